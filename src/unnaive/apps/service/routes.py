"""Our own REST interface: classify, models, teaching, health."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request, Response
from starlette.requests import ClientDisconnect

from unnaive.apps.service import bodies
from unnaive.apps.service.answers import model_card, network_picture
from unnaive.apps.service.changes import Change, Document
from unnaive.apps.service.classify import classify_texts, read_given
from unnaive.apps.service.effects import Effect, declares
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.openapi_examples import LINES as LINES_EXAMPLE
from unnaive.apps.service.refused import Refused, refuse_mistake
from unnaive.apps.service.served import ServedModel
from unnaive.base.errors import UnnaiveError

STREAM_BODY = {"schema": {"type": "string"}, "example": LINES_EXAMPLE}
LINES = 256  # of a stream, scored at a time
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, min_length=1)]


def json_response(value: Any, status: int = 200) -> Response:
    """A value as an answer."""
    return Response(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), status, media_type="application/json")


class LinesResponse(Response):
    """An answer that is written while the request is still read.

    Starlette's StreamingResponse waits for the client to leave by reading the request, and would eat its body.
    """

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[bytes], status_code: int = 200) -> None:
        super().__init__(status_code=status_code)
        del self.headers["content-length"]
        self.lines = lines

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send part after part; the server holds this back while the client does not read."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for part in self.lines:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def make_router(models: Models) -> APIRouter:
    """The routes over some models."""
    router = APIRouter()

    @router.post("/v1/classify", **described(bodies.ClassifyRequest, bodies.ClassifyAnswer, 404, 409))
    @declares(Effect.COMPUTE)
    async def classify(request: Request) -> Response:
        """The labels of one text or of several, with the probability of every class."""
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
        """A JSON object a line in (`{"text": …}`), one a line out, in order; of any length, in constant memory."""
        found = models.find(model)
        return LinesResponse(stream(models, found, request, top_k))

    @router.get("/v1/models", **described(None, bodies.ModelList))
    @declares(Effect.READ)
    async def list_models() -> Response:
        """The models; the first answers requests that name none."""
        return json_response({"models": [model_summary(one) for one in models]})

    @router.get("/v1/models/{name}", **described(None, bodies.ModelCard, 404))
    @declares(Effect.READ)
    async def card(name: str, terms: Annotated[int, Query(ge=0, le=100)] = 10) -> Response:
        """The card of a model: its settings, sizes, classes and their strongest terms."""
        model = models.find(name)
        version = model.version
        about = await models.work(model_card, version.fitted, terms)
        own = {
            "name": name, "version": version.number, "teachable": model.teachable, "evaluation": model.measures,
            "history": await models.work(model.history),
        }  # fmt: skip
        return json_response({**own, **about})

    @router.get(
        "/v1/models/{name}/network", response_class=Response,
        responses=described(None, bodies.Status, 404)["responses"] | {
            200: {"description": "Done.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}}
        },
    )  # fmt: skip
    @declares(Effect.READ)
    async def network(name: str, label: str) -> Response:
        """The Bayesian network of a class as a picture, of models that have one."""
        found = await models.work(network_picture, models.find(name).version.fitted, label)
        return Response(found, media_type="image/svg+xml")

    @router.post("/v1/models/{name}/teach", **described(bodies.ChangeRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def teach(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Teach documents: they are on disk, and the model has them, when the answer comes."""
        return await teach_given(models, name, await request.body(), key)

    @router.post("/v1/models/{name}/forget", **described(bodies.ForgetRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def forget(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Forget what was taught, by its event or its text, exactly: the model becomes the one that never saw it."""
        return await forget_taught(models, name, await request.body(), key)

    @router.post("/v1/models/{name}/undo", **described(bodies.UndoRequest, bodies.ChangeAnswer, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def undo(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Take an event back: forget what it taught, teach what it forgot; once."""
        body = await request.body()
        asked = bodies.parse(bodies.UndoRequest, body)
        model = models.find(name)
        return await change(models, model, model.undo, asked.event, key=key, request=digest_of("undo", body))

    @router.get("/v1/models/{name}/versions", **described(None, bodies.VersionList, 401, 404))
    @declares(Effect.READ)
    async def versions(
        name: str, request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        before: Annotated[int | None, Query(ge=0, le=1 << 53)] = None, documents: bool = False,
    ) -> Response:  # fmt: skip
        """What the model was taught and what it forgot, the newest first; `documents` needs the token."""
        model = models.find(name)
        if documents and not request.scope.get("unnaive.token"):
            raise Refused(401, "documents are shown only with the token of the service: Authorization: Bearer TOKEN")
        record = model.record
        found = [] if record is None else await models.work(record.events, limit, before, documents=documents)
        return json_response({"current": model.version.number, "versions": found})

    @router.post(
        "/v1/models/{name}/rollback", **described(bodies.RollbackRequest, bodies.ChangeAnswer, 401, 403, 404, 409)
    )
    @declares(Effect.CHANGE)
    async def rollback(name: str, request: Request, key: IdempotencyKey = None) -> Response:
        """Make the model what it was at a version, exactly."""
        body = await request.body()
        asked = bodies.parse(bodies.RollbackRequest, body)
        model = models.find(name)
        return await change(models, model, model.roll_back, asked.version, key=key, request=digest_of("rollback", body))

    @router.get("/healthz", **described(None, bodies.Status))
    @declares(Effect.HEALTH)
    async def healthz() -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    @router.get("/readyz", **described(None, bodies.Status, 503))
    @declares(Effect.HEALTH)
    async def readyz() -> Response:
        """Whether the service can do its work: all models are loaded and what they were taught can be written."""
        problem = models.problem
        return json_response({"status": problem or "ready"}, 503 if problem else 200)

    @router.get("/metrics", response_class=Response)
    @declares(Effect.READ)
    async def metrics() -> Response:
        """Counters, times and drift in Prometheus's text format."""
        await models.update_gauges()
        return Response(models.metrics.text(), media_type="text/plain; version=0.0.4")

    return router


def model_summary(model: ServedModel) -> dict[str, Any]:
    """A model in a list."""
    version = model.version
    spec = version.fitted.spec
    return {
        "name": model.name, "version": version.number, "model": spec.model.name, "title": spec.model.title,
        "classes": len(version.fitted.classes), "teachable": model.teachable,
    }  # fmt: skip


async def teach_given(models: Models, name: str, body: bytes, key: str | None) -> Response:
    """Teach the documents of a request."""
    asked = bodies.parse(bodies.ChangeRequest, body)
    model = models.find(name)
    wanted = Change(learn=_documents_of(models, model, asked.documents))
    request = digest_of("teach", body)
    return await change(
        models, model, model.change, "teach", wanted, new_classes=asked.new_classes, key=key, request=request
    )


async def forget_taught(models: Models, name: str, body: bytes, key: str | None) -> Response:
    """Forget the event or the documents of a request."""
    asked = bodies.parse(bodies.ForgetRequest, body)
    if asked.event is None and asked.documents is None:
        raise Refused(422, "give event, the number of what was taught, or documents with their labels")
    model = models.find(name)
    documents = _documents_of(models, model, asked.documents or [])
    request = digest_of("forget", body)
    return await change(
        models, model, model.forget, documents, event=asked.event, unchecked=asked.unchecked, key=key, request=request
    )


async def change(models: Models, model: ServedModel, function: Any, *given: Any, **named: Any) -> Response:
    """The answer of a function that changes a model."""
    try:
        found = await models.change(function, *given, **named)
    except Refused:
        raise
    except UnnaiveError as problem:  # a document that the model never learnt, or cannot learn
        raise refuse_mistake(409, problem) from problem
    models.count_change(model, found)
    return json_response({"model": model.name, **found})


def digest_of(kind: str, body: bytes) -> str:
    """What tells one request from another that has the same idempotency key."""
    return hashlib.sha256(kind.encode() + b" " + body).hexdigest()


def _documents_of(models: Models, model: ServedModel, given: list[bodies.LabelledDocument]) -> tuple[Document, ...]:
    texts = models.check_texts(read_given(model.version.fitted, [one.text for one in given]))
    return tuple(Document(text, _labels_of(one)) for text, one in zip(texts, given, strict=True))


def _labels_of(document: bodies.LabelledDocument) -> tuple[Any, ...]:
    if (document.label is None) == (document.labels is None):
        raise Refused(422, "give each document either label, or labels as a list")
    return (document.label,) if document.label is not None else tuple(document.labels or ())


async def stream(models: Models, model: ServedModel, request: Request, top_k: int) -> AsyncIterator[bytes]:
    """Answers line by line; the next lines are only read when those before were taken.

    What ends the stream early, such as a client that sends no more lines, is said in a last line.
    """
    try:
        async for answers in _answer_parts(models, model, request, top_k):
            yield answers
    except ClientDisconnect:
        return  # who has gone is told nothing
    except Refused as problem:
        yield orjson.dumps({"error": str(problem)}) + b"\n"


async def _answer_parts(models: Models, model: ServedModel, request: Request, top_k: int) -> AsyncIterator[bytes]:
    waiting: list[bytes] = []
    rest = b""
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > models.limits.body:
            raise Refused(413, f"a line is longer than {models.limits.body:,} bytes; the rest is not read")
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
    """An answer for each line; a line that is no object with a text gets a sentence, and the stream goes on."""
    texts, problems = [], {}
    for number, line in enumerate(lines):
        try:
            texts.append(_text_of_line(line))
            models.check_texts(texts[-1:])
        except Refused as problem:
            problems[number] = str(problem)
            texts[number:] = [""]
    scored = await models.find_top(model, texts, top_k)
    more = {"model": model.name, "version": scored.version.number}  # which may change while a stream goes on
    rows = scored.render(b"\n", more).joined(0, len(texts)).split(b"\n")
    for number, sentence in problems.items():
        rows[number] = orjson.dumps({"error": sentence})
    return b"\n".join(rows) + b"\n"


def _text_of_line(line: bytes) -> str:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Refused(422, "this line is not JSON; give an object with a text in each line") from None
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise Refused(422, 'this line has no text; give {"text": "…"}')
    return text
