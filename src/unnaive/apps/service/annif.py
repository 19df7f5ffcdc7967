"""The part of Annif's REST interface that its `http` backend uses: a project, and suggestions for a text."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response

from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service import foreign_answers
from unnaive.apps.service.classify import read_given
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.served import ServedModel

FORM = "application/x-www-form-urlencoded"
USUAL_LIMIT = 10  # of Annif
MOST_FIELDS = 1000
SUGGEST_BODY = {
    "schema": {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "The text."},
            "limit": {"type": "integer", "minimum": 1, "default": USUAL_LIMIT, "description": "How many suggestions."},
            "threshold": {"type": "number", "default": 0, "description": "Leave out suggestions with a lower score."},
        },
    },
    "example": {"text": "my invoice was charged twice", "limit": 3},
}


def make_annif_router(models: Models) -> APIRouter:
    """The routes: every model is a project."""
    router = APIRouter()

    @router.get("/v1/projects/{name}", **described(None, foreign_answers.AnnifProject, 404))
    @declares(Effect.READ)
    async def project(name: str) -> Response:
        """A model as a project of Annif."""
        return json_response(_describe(models.find(name)))

    @router.post(
        "/v1/projects/{name}/suggest",
        responses=described(None, foreign_answers.AnnifSuggestions, 404, 413, 415)["responses"],
        openapi_extra={"requestBody": {"required": True, "content": {FORM: SUGGEST_BODY}}},
    )
    @declares(Effect.COMPUTE)
    async def suggest(name: str, request: Request) -> Response:
        """The best classes of a text, whose names are the URIs, with their scores."""
        model = models.find(name)
        form = _read_form(request.headers.get("content-type", ""), await request.body())
        limit, threshold = int(_number(form, "limit", USUAL_LIMIT)), _number(form, "threshold", 0.0)
        if limit < 1:
            raise Refused(422, f"limit is {limit}; give a number from 1 on")
        texts = models.limits.check_texts(read_given(model.version.fitted, [form["text"]]))
        answers = (await models.find_top(model, texts, limit)).answers
        known = answers.fitted.probabilistic
        ranked = [(str(label), _score(value, known)) for label, value in next(answers.ranked(limit))]
        return json_response(
            {
                "results": [
                    {"uri": label, "label": label, "notation": None, "score": score}
                    for label, score in ranked
                    if score >= threshold
                ]
            }
        )

    return router


def _describe(model: ServedModel) -> dict[str, Any]:
    language = model.version.fitted.token_rule
    written = datetime.fromtimestamp(model.path.stat().st_mtime, UTC) if model.path.exists() else None
    return {
        "project_id": model.name, "name": model.name, "language": (language and language.language) or "",
        "backend": {"backend_id": "unnaive"}, "is_trained": True,
        "modification_time": written and written.isoformat(timespec="seconds"),
    }  # fmt: skip


def _read_form(kind: str, body: bytes) -> dict[str, str]:
    """The fields of a form, of which `text` is required."""
    if kind and kind.partition(";")[0].strip().lower() != FORM:
        raise Refused(415, f"the body is {kind[:80]}; send a form, {FORM}")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except UnicodeDecodeError as problem:
        raise Refused(422, f"the form is not UTF-8 (byte {problem.start}); encode it so") from problem
    except ValueError as problem:
        raise Refused(422, f"the form has more than {MOST_FIELDS} fields; send text, limit and threshold") from problem
    form = dict(pairs)
    if "text" not in form:
        raise Refused(422, "the form has no field text; give the text to suggest classes for")
    return form


def _number(form: dict[str, str], name: str, usual: float) -> float:
    """A number of the form; `limit` is a whole one."""
    given = form.get(name) or str(usual)
    try:
        value = float(int(given)) if name == "limit" else float(given)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise Refused(422, f"{name} is {given[:40]!r}; give a {'whole number' if name == 'limit' else 'number'}")
    return value


def _score(value: float, probabilistic: bool) -> float:
    """A probability, or a score of a model without probabilities between 0 and 1 by the logistic function."""
    return value if probabilistic else 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, value))))
