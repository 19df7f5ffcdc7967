"""The REST interface: classify, models, teaching, health."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request, Response
from starlette.requests import ClientDisconnect

from unnaive.apps.common.web.access import check_scope
from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused, refuse_mistake
from unnaive.apps.common.web.tokens import TokenScope
from unnaive.apps.service import bodies
from unnaive.apps.service.answers import network_picture
from unnaive.apps.service.classify import classify_texts, read_given
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.openapi_examples import LINES as LINES_EXAMPLE
from unnaive.apps.service.openapi_examples import TABLE as TABLE_EXAMPLE
from unnaive.apps.service.requested_changes import RequestedChange
from unnaive.apps.service.sent_tables import read_sent_table
from unnaive.apps.service.served import ServedModel
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.curation.teaching.changes import Change, Document
from unnaive.workflows.model_card import model_card

STREAM_BODY = {"schema": {"type": "string"}, "example": LINES_EXAMPLE}
TABLE_BODY = {"schema": {"type": "string"}, "example": TABLE_EXAMPLE}
LINES = 256  # lines of a stream scored at a time
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, min_length=1)]


class LinesResponse(Response):
    """A response that is written while the request is still being read.

    Starlette's StreamingResponse detects a disconnect by reading the request and would consume its body.
    """

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[bytes], status_code: int = 200) -> None:
        super().__init__(status_code=status_code)
        del self.headers["content-length"]
        self.lines = lines

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send part after part; the server pauses this while the client does not read."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for part in self.lines:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def make_router(models: Models) -> APIRouter:
    """The routes of the REST interface."""
    router = APIRouter()
    _add_classify(router, models)
    _add_tables(router, models)
    _add_cards(router, models)
    _add_changes(router, models)
    _add_health(router, models)
    return router


def _add_classify(router: APIRouter, models: Models) -> None:
    """The routes that classify texts."""

    @router.post("/v1/classify", **described(bodies.ClassifyRequest, bodies.ClassifyAnswer, 404, 409))
    @declares(Effect.COMPUTE)
    async def classify(request: Request) -> Response:
        """Classify one text or several: labels, and the probability of every class."""
        return Response(await classify_texts(models, await request.body()), media_type="application/json")

    @router.post(
        "/v1/classify/stream", response_class=LinesResponse,
        responses=described(None, bodies.Status, 404)["responses"] | {
            200: {"description": "Done.", "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
        },
        openapi_extra={"requestBody": {"content": {"application/x-ndjson": STREAM_BODY}}},
    )  # fmt: skip
    @declares(Effect.STREAM)
    async def classify_stream(
        request: Request, model: str | None = None, top_k: Annotated[int, Query(ge=1)] = 1
    ) -> LinesResponse:
        """One JSON object per line in (`{"text": …}`), one per line out, in order; any length, in constant memory."""
        served = models.find(model)
        return LinesResponse(stream(models, served, request, top_k))


def _add_tables(router: APIRouter, models: Models) -> None:
    """The route that reads a table for the page."""

    @router.post(
        "/v1/table", responses=described(None, bodies.TableAnswer, 413, 415)["responses"],
        openapi_extra={"requestBody": {"required": True, "content": {"text/csv": TABLE_BODY}}},
    )  # fmt: skip
    @declares(Effect.COMPUTE)
    async def table(request: Request, name: Annotated[str, Query(max_length=300)] = "table.csv") -> Response:
        """The columns and rows of a file in CSV or TSV, in UTF-8, UTF-16 or Windows-1252; a bad row is an error."""
        body = await request.body()
        return await models.read(lambda: json_response(read_sent_table(body, name)))


def _add_cards(router: APIRouter, models: Models) -> None:
    """The routes that describe models."""

    @router.get("/v1/models", **described(None, bodies.ModelList))
    @declares(Effect.READ)
    async def list_models() -> Response:
        """The models; the first is the default."""
        return json_response({"models": [model_summary(model) for model in models]})

    @router.get("/v1/models/{name}", **described(None, bodies.ModelCard, 404))
    @declares(Effect.READ)
    async def card(name: str, terms: Annotated[int, Query(ge=0, le=100)] = 10) -> Response:
        """The card of a model: settings, sizes, classes and their strongest terms."""
        model = models.find(name)
        version = model.version
        about = await models.work(model_card, version.fitted, terms)
        details = {
            "name": name, "version": version.number, "version_id": version.id, "teachable": model.teachable,
            "evaluation": model.evaluations.card(version.number),
            "history": await models.work(model.evaluations.history),
        }  # fmt: skip
        return json_response({**details, **about})

    @router.get(
        "/v1/models/{name}/network", response_class=Response,
        responses=described(None, bodies.Status, 404)["responses"] | {
            200: {"description": "Done.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}}
        },
    )  # fmt: skip
    @declares(Effect.READ)
    async def network(name: str, label: str) -> Response:
        """The Bayesian network of a class as a picture, for models that have one."""
        picture = await models.work(network_picture, models.find(name).version.fitted, label)
        return Response(picture, media_type="image/svg+xml")


def _add_changes(router: APIRouter, models: Models) -> None:
    """The routes that change models, and list the changes."""

    @router.post("/v1/models/{name}/teach", **described(bodies.ChangeRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def teach(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Teach documents; when the answer arrives, they are on disk and the model has learnt them."""
        return await teach_given(models, name, await request.body(), key)

    @router.post("/v1/models/{name}/forget", **described(bodies.ForgetRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def forget(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Forget what was taught, by event or by text, exactly: the model becomes the one that never saw it."""
        return await forget_taught(models, name, await request.body(), key)

    @router.post("/v1/models/{name}/undo", **described(bodies.UndoRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def undo(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Undo an event: forget what it taught, teach what it forgot; an event can be undone once."""
        body = await request.body()
        undo_request = bodies.parse(bodies.UndoRequest, body)
        model = models.find(name)
        return await change(models, model, model.undo, undo_request.event, key=key, request=digest_of("undo", body))

    @router.get("/v1/models/{name}/versions", **described(None, bodies.VersionList, 401, 404))
    @declares(Effect.READ)
    async def versions(
        name: str, request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        before: Annotated[int | None, Query(ge=0, le=1 << 53)] = None, documents: bool = False,
    ) -> Response:  # fmt: skip
        """The events of the model, newest first; `documents` needs the token.

        To read on, give the `next` of the answer as `before`; events that are added meanwhile shift nothing.
        """
        model = models.find(name)
        if documents:
            check_scope(request.scope.get("unnaive.token"), TokenScope.TEACH)
        record = model.record
        events = [] if record is None else await models.work(record.events, limit, before, documents=documents)
        version = model.version
        more = events[-1]["event"] if len(events) == limit and events[-1]["event"] > 1 else None
        return json_response({"current": version.number, "current_id": version.id, "versions": events, "next": more})

    @router.post(
        "/v1/models/{name}/rollback", **described(bodies.RollbackRequest, bodies.ChangeAnswer, 401, 403, 404, 409)
    )
    @declares(Effect.RESTORE)
    async def rollback(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Restore a version of the model, exactly."""
        body = await request.body()
        rollback_request = bodies.parse(bodies.RollbackRequest, body)
        model = models.find(name)
        return await change(
            models, model, model.roll_back, rollback_request.version, key=key, request=digest_of("rollback", body)
        )


def _add_health(router: APIRouter, models: Models) -> None:
    """The routes for monitoring."""

    @router.get("/healthz", **described(None, bodies.Status))
    @declares(Effect.HEALTH)
    async def healthz() -> Response:
        """Whether the process is running."""
        return json_response({"status": "ok"})

    @router.get("/readyz", **described(None, bodies.Status, 503))
    @declares(Effect.HEALTH)
    async def readyz() -> Response:
        """Whether the service is ready: all models are loaded, and teaching can be written to disk."""
        problem, problems = models.problem, models.problems
        shown = {"problems": problems} if problems else {}
        return json_response({"status": problem or "ready", **shown}, 503 if problem else 200)

    @router.get(
        "/metrics", response_class=Response,
        responses=described(None, bodies.Status)["responses"] | {
            200: {"description": "Done.", "content": {"text/plain": {"schema": {"type": "string"}}}}
        },
    )  # fmt: skip
    @declares(Effect.READ)
    async def metrics() -> Response:
        """Counters, durations and drift in Prometheus's text format."""
        await models.update_gauges()
        return Response(models.metrics.text(), media_type="text/plain; version=0.0.4")


def model_summary(model: ServedModel) -> dict[str, Any]:
    """The entry of a model in a list."""
    version = model.version
    spec = version.fitted.spec
    return {
        "name": model.name, "version": version.number, "version_id": version.id,
        "model": spec.model.traits.name, "title": spec.model.traits.title,
        "classes": len(version.fitted.classes), "teachable": model.teachable,
        "fields": None if version.fitted.token_rule is None else version.fitted.token_rule.field_kinds,
    }  # fmt: skip


async def teach_given(models: Models, name: str, body: bytes, key: str | None) -> Response:
    """Teach the documents of a request."""
    change_request = bodies.parse(bodies.ChangeRequest, body)
    model = models.find(name)
    wanted = Change(learn=_documents_of(models, model, change_request.documents))
    request = digest_of("teach", body)
    return await change(models, model, None, RequestedChange("teach", wanted, change_request.new_classes, key, request))


async def forget_taught(models: Models, name: str, body: bytes, key: str | None) -> Response:
    """Forget the event or the documents of a request."""
    forget_request = bodies.parse(bodies.ForgetRequest, body)
    if forget_request.event is None and forget_request.documents is None:
        raise Refused(422, "give event (the number of an event that taught) or documents with their labels")
    model = models.find(name)
    documents = _documents_of(models, model, forget_request.documents or [])
    request = digest_of("forget", body)
    return await change(
        models,
        model,
        model.forget,
        documents,
        event=forget_request.event,
        unchecked=forget_request.unchecked,
        key=key,
        request=request,
    )


async def change(models: Models, model: ServedModel, function: Any, *arguments: Any, **named: Any) -> Response:
    """The response of a function that changes a model; without one, of a change that others may share."""
    try:
        if function is None:
            answer = await models.teach(model, *arguments)
        else:
            answer = await models.change(model, function, *arguments, **named)
    except Refused:
        raise
    except UnnaiveError as problem:  # a document that the model never learnt, or cannot learn
        raise refuse_mistake(409, problem) from problem
    models.count_change(model, answer)
    return json_response({"model": model.name, **answer})


def digest_of(kind: str, body: bytes) -> str:
    """A digest that distinguishes requests with the same idempotency key."""
    return hashlib.sha256(kind.encode() + b" " + body).hexdigest()


def _documents_of(models: Models, model: ServedModel, documents: list[bodies.LabelledDocument]) -> tuple[Document, ...]:
    texts = models.limits.check_texts(read_given(model.version.fitted, [document.text for document in documents]))
    return tuple(Document(text, _labels_of(document)) for text, document in zip(texts, documents, strict=True))


def _labels_of(document: bodies.LabelledDocument) -> tuple[Any, ...]:
    if (document.label is None) == (document.labels is None):
        raise Refused(422, "give each document either label or labels (a list)")
    return (document.label,) if document.label is not None else tuple(document.labels or ())


async def stream(models: Models, model: ServedModel, request: Request, top_k: int) -> AsyncIterator[bytes]:
    """Yield results line by line; further lines are read only after the previous results were taken.

    If the stream ends early, for instance because the client sends no more lines, a last line says why.
    """
    try:
        async for answers in _answer_parts(models, model, request, top_k):
            yield answers
    except ClientDisconnect:
        return  # the client has disconnected
    except Refused as problem:
        yield orjson.dumps({"error": str(problem)}) + b"\n"


async def _answer_parts(models: Models, model: ServedModel, request: Request, top_k: int) -> AsyncIterator[bytes]:
    waiting: list[bytes] = []
    rest = b""
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        models.limits.check_line(len(rest))
        waiting += [line for line in lines if line.strip()]
        while len(waiting) >= LINES:
            yield await answer_lines(models, model, waiting[:LINES], top_k)
            del waiting[:LINES]
        if waiting:
            yield await answer_lines(models, model, waiting, top_k)
            waiting = []
        await asyncio.sleep(0)
    if rest.strip():
        yield await answer_lines(models, model, [rest], top_k)


async def answer_lines(models: Models, model: ServedModel, lines: list[bytes], top_k: int) -> bytes:
    """A result for each line; a line without a JSON object with a text gets an error, and the stream continues."""
    texts, problems = [], {}
    for number, line in enumerate(lines):
        try:
            texts += read_given(model.version.fitted, [_text_of_line(line)])
            models.limits.check_texts(texts[-1:])
        except (Refused, BadData) as problem:
            problems[number] = str(problem)
            texts[number:] = [""]
    scored = await models.find_top(model, texts, top_k)
    version = scored.version
    more = {
        "model": model.name,
        "version": version.number,
        "version_id": version.id,
    }  # the version may change during a stream
    rows = scored.render(b"\n", more).joined(0, len(texts)).split(b"\n")
    for number, sentence in problems.items():
        rows[number] = orjson.dumps({"error": sentence})
    return b"\n".join(rows) + b"\n"


def _text_of_line(line: bytes) -> str | dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Refused(422, "this line is not JSON; give an object with a text in each line") from None
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, (str, dict)):
        raise Refused(422, 'this line has no text; give {"text": "…"}')
    return text
