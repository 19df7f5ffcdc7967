"""POST /v1/classify, and a shortcut that bypasses the framework."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from unnaive.apps.common.web.guard import Application, Scope, Send
from unnaive.apps.common.web.inflating import Receive
from unnaive.apps.common.web.refused import Refused, refuse_mistake
from unnaive.apps.service import bodies
from unnaive.apps.service.batching import Scored, TopScored
from unnaive.apps.service.models import Models
from unnaive.apps.service.rendering import plain_rows
from unnaive.apps.service.version import Version
from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Label
from unnaive.data.fields.bad_values import BadRecord
from unnaive.data.fields.fields import one_document
from unnaive.learning.fitted import FittedModel
from unnaive.learning.novelty import UNDECIDED
from unnaive.text.field import Fields

PATH = "/v1/classify"
SMALL = 256  # up to this many texts, answers are serialised on the event loop

log = logging.getLogger("unnaive.service")


async def classify_texts(models: Models, body: bytes) -> bytes:
    """Classify the texts of a request; returns JSON."""
    query = bodies.parse(bodies.ClassifyRequest, body)
    model = models.find(query.model)
    texts = models.limits.check_texts(read_given(model.version.fitted, texts_of(query)))
    if query.top_k is None or query.coverage is not None or query.out_of_scope_rate is not None:
        scored: Scored | TopScored = await models.score(model, texts, query.top_k)
    else:
        scored = await models.find_top(model, texts, query.top_k)
    if query.explain or any(
        option is not None for option in (query.coverage, query.min_probability, query.out_of_scope_rate)
    ):
        results = await models.work(detailed_results, scored, texts, query)
    else:
        results = scored.json() if len(texts) <= SMALL else await models.work(scored.json)
    version = scored.version
    return b'{"model":%b,"version":%d,"version_id":"%b","results":[%b]}' % (
        orjson.dumps(model.name), version.number, version.id.encode(), results,
    )  # fmt: skip


class DirectClassify:
    """An application that answers POST /v1/classify itself and passes everything else on.

    The framework's path to a route (matching, dependencies, exit stacks, request and response objects) takes several
    times as long as the answer. The route also exists there, for the OpenAPI description.
    """

    def __init__(self, app: Application, models: Models) -> None:
        self.app, self.models = app, models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on; errors become Refused, which the guard reports to the client."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            answer = await classify_texts(self.models, await read_body(receive))
        except Refused:
            raise
        except UnnaiveError as problem:
            raise refuse_mistake(422, problem) from problem
        except Exception as problem:
            log.exception("a request failed")
            raise Refused(500, "the service failed to answer this request; see its log") from problem
        length = str(len(answer)).encode()
        headers = [(b"content-length", length), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request."""
    message = await receive()
    if not message.get("more_body", False):  # the usual case
        return bytes(message.get("body", b""))
    parts = [message.get("body", b"")]
    while message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


def texts_of(query: bodies.ClassifyRequest) -> list[str | dict[str, Any]]:
    """The texts of a request: `text` or `texts`."""
    if (query.text is None) == (query.texts is None):
        raise Refused(422, "give either text (a string) or texts (a list of strings)")
    return [query.text] if query.text is not None else list(query.texts or ())


def read_given(fitted: FittedModel, inputs: list[str | dict[str, Any]]) -> list[str]:
    """The texts of a request as the model reads them: objects are records with its fields."""
    if all(isinstance(document, str) for document in inputs):
        return inputs  # type: ignore[return-value]
    if not reads_records(fitted):
        raise Refused(422, "the model reads texts, and an object came; give a string, or a list of strings")
    fields = fitted.token_rule.fields  # type: ignore[union-attr]
    return [_encode_input(document, fields, f"text {number}" if len(inputs) > 1 else "")
            for number, document in enumerate(inputs)]  # fmt: skip


def _encode_input(document: str | dict[str, Any], fields: Fields | None, position: str) -> str:
    """A record as a text; an error says which of the inputs it is, counted from 0."""
    try:
        return str(one_document(document, fields))
    except BadRecord as problem:
        raise problem.at(position) from None


def reads_records(fitted: FittedModel) -> bool:
    """Whether the model reads records with fields, not texts."""
    return fitted.token_rule is not None and fitted.token_rule.fields is not None


def detailed_results(scored: Scored | TopScored, texts: list[str], query: bodies.ClassifyRequest) -> bytes:
    """The result for each text if the request asks for more than the best classes."""
    version = scored.version
    if query.min_probability is not None and not version.fitted.probabilistic:
        raise Refused(409, "this model has scores but no probabilities, so min_probability is not supported; use top_k")
    results: list[dict[str, Any]] = plain_rows(scored.answers, query.top_k)
    if query.min_probability is not None:
        leave_undecided(results, query.min_probability)
    if query.coverage is not None and isinstance(scored, Scored):
        for result, labels in zip(results, label_sets_at(version, scored.scores, query.coverage), strict=True):
            result["label_set"] = labels
    if query.out_of_scope_rate is not None and isinstance(scored, Scored):
        mark_unknown(results, version, scored.scores, query.out_of_scope_rate)
    if query.explain:
        for label in (query.class_, query.against):
            if label is not None:
                check_label(version.fitted, label)
        for result, text in zip(results, texts, strict=True):
            result["explanation"] = explanation(version, text, query)
    return orjson.dumps(results, option=orjson.OPT_NON_STR_KEYS)[1:-1]


def label_sets_at(version: Version, scores: Any, coverage: float) -> list[tuple[Any, ...]]:
    """For each text, a set of labels that contains the right one with probability `coverage`."""
    try:
        return version.fitted.sets_of(scores, coverage)
    except UnnaiveError as problem:  # the model has no held-out scores
        raise refuse_mistake(409, problem) from problem


def leave_undecided(results: list[dict[str, Any]], least: float) -> None:
    """Label texts "undecided" that have no label, or whose best label has a lower probability than `least`."""
    for result in results:
        if not result["labels"] or result["classes"][0]["probability"] < least:
            decide_nothing(result)


def decide_nothing(result: dict[str, Any]) -> None:
    """Label a result "undecided"; its probability, or score, is then the best of the classes."""
    result["label"], result["labels"] = UNDECIDED, [UNDECIDED]
    value = next(name for name in result["classes"][0] if name != "label")
    result[value] = max(one[value] for one in result["classes"])


def mark_unknown(results: list[dict[str, Any]], version: Version, scores: Any, rate: float) -> None:
    """Label texts that are unlike all classes "undecided", and add the score of each."""
    try:
        unknown = version.fitted.out_of_scope_rows(scores, rate)
        novelty = version.fitted.out_of_scope_scores(scores)
    except UnnaiveError as problem:  # two classes, multilabel, or no held-out scores
        raise refuse_mistake(409, problem) from problem
    for result, novel, share in zip(results, unknown.tolist(), novelty.tolist(), strict=True):
        result["out_of_scope_score"] = share
        if novel:
            decide_nothing(result)


def explanation(version: Version, text: str, query: bodies.ClassifyRequest) -> dict[str, Any]:
    """The contribution of each term of the text to a class, with its position in characters."""
    try:
        return version.fitted.explain(text, query.class_, against=query.against).to_dict()
    except UnnaiveError as problem:
        raise refuse_mistake(409, problem) from problem


def check_label(fitted: FittedModel, label: Label) -> None:
    """Refuse with status 404 if the model has no such class."""
    try:
        fitted.class_index(label)
    except UnnaiveError as problem:
        raise refuse_mistake(404, problem) from problem
