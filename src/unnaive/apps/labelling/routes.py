"""The routes that show texts and take answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.labelling.keys import keys_of
from unnaive.apps.labelling.people import Person
from unnaive.apps.labelling.session_progress import Standing
from unnaive.base.errors import UnnaiveError
from unnaive.curation.labelling.browse import describe_answer
from unnaive.curation.labelling.class_names import AlikeClass
from unnaive.curation.labelling.label_log import AlreadyDecided
from unnaive.curation.labelling.labelling_session import Labelling, Shown
from unnaive.curation.labelling.record_tables import DECIDED

LONGEST = 20_000  # characters of a text that are highlighted; the rest is shown plain


class Answer(BaseModel):
    """A person's answer for a text; `seen` is the last decision on it when it was shown."""

    who: str = Field(min_length=1, max_length=100)
    text: int
    seen: int
    kind: str
    labels: list[str] = Field(default_factory=list, max_length=1000)


class Present(BaseModel):
    """The person, and the text on the screen."""

    who: str = Field(min_length=1, max_length=100)
    after: int


class Name(BaseModel):
    """The person, and optionally the name that the page had before, a class, or words to search for."""

    who: str = Field(min_length=1, max_length=100)
    before: str | None = Field(None, max_length=100)
    label: str | None = Field(None, max_length=1000)
    words: str | None = Field(None, max_length=10_000)
    alike: bool = False


def make_text_view(labelling: Labelling) -> Callable[[str], Awaitable[Response]]:
    """A function that answers with the next text of a person, and all that the page shows beside it."""

    def view(person: str) -> dict[str, Any]:
        with labelling.lock:
            shown = labelling.show(person)
            likeliest = () if shown is None else shown.probabilities
            return {
                "who": person, "summary": labelling.summary(person), "multilabel": labelling.pool.multilabel,
                "classes": list(labelling.pool.classes), "keys": keys_of(labelling.pool.classes, likeliest),
                "text": None if shown is None else describe_shown(labelling, shown),
                "done": labelling.why_done(person) if shown is None else None,
                "looking": {"label": labelling.wish.get(person), "words": person in labelling.among},
            }  # fmt: skip

    async def viewed(person: str) -> Response:
        return json_response(await run_in_threadpool(view, person))

    return viewed


def view_ahead(labelling: Labelling, person: str, after: int) -> dict[str, Any]:
    """The text that follows the present one, with its keys, for the page to show while an answer is recorded."""
    with labelling.lock:
        shown = labelling.show_ahead(person, after)
        return {
            "after": after, "text": None if shown is None else describe_shown(labelling, shown),
            "keys": keys_of(labelling.pool.classes, () if shown is None else shown.probabilities),
        }  # fmt: skip


def make_label_router(labelling: Labelling, who: str, person: Person) -> APIRouter:
    """The routes of a labelling session; all of them need the token."""
    router, standing, viewed = APIRouter(prefix="/label"), Standing(), make_text_view(labelling)

    @router.get("/who")
    @declares(Effect.READ)
    async def user(request: Request) -> Response:
        name = person.name(request, who)
        return json_response({"who": name, "fixed": person.name(request, "") != "", "reviews": person.reviews(request)})

    @router.post("/next")
    @declares(Effect.CHANGE)
    async def next_text(body: Name, request: Request) -> Response:
        name = person.name(request, body.who)
        if body.before is not None and person.name(request, body.before) != name:
            await run_in_threadpool(labelling.leave, body.before)
        return await viewed(name)

    @router.post("/answer")
    @declares(Effect.CHANGE)
    async def answer(body: Answer, request: Request) -> Response:
        name = person.name(request, body.who)
        try:
            await run_in_threadpool(labelling.answer, name, body.text, body.kind, body.labels, body.seen)
        except AlreadyDecided as problem:
            raise Refused(409, str(problem)) from problem
        return await viewed(name)

    @router.post("/ahead")
    @declares(Effect.CHANGE)
    async def ahead(body: Present, request: Request) -> Response:
        name = person.name(request, body.who)
        return json_response(await run_in_threadpool(view_ahead, labelling, name, body.after))

    @router.post("/undo")
    @declares(Effect.CHANGE)
    async def undo(body: Name, request: Request) -> Response:
        name = person.name(request, body.who)
        gone = await run_in_threadpool(labelling.undo, name)
        if gone is None:
            raise UnnaiveError("there is nothing to undo")
        return await viewed(name)

    @router.post("/class")
    @declares(Effect.CHANGE)
    async def new_class(body: Name, request: Request) -> Response:
        name = person.name(request, body.who)
        try:
            await run_in_threadpool(partial(labelling.add_class, name, body.label or "", alike=body.alike))
        except AlikeClass as problem:
            raise Refused(409, str(problem)) from problem
        return await viewed(name)

    @router.post("/look")
    @declares(Effect.CHANGE)
    async def look(body: Name, request: Request) -> Response:
        name = person.name(request, body.who)
        text = await run_in_threadpool(labelling.look_for, name, body.label, body.words)
        if body.words and not text:
            labelling.look_for(name)
            raise UnnaiveError(f"no text contains all of: {body.words}")
        return await viewed(name)

    @router.get("/standing")
    @declares(Effect.READ)
    async def stand() -> Response:  # separate from the next text, which need not wait for it
        return json_response(await run_in_threadpool(standing.look, labelling))

    return router


def describe_shown(labelling: Labelling, shown: Shown) -> dict[str, Any]:
    """A text for the page: split into segments, each with its evidence relative to the strongest."""
    why = labelling.explain(shown)
    marked = [(shown.body, 0.0)] if why is None or len(shown.body) > LONGEST else why.marked()
    answers = labelling.answers_about(shown.text) if shown.way == DECIDED else []  # others answer without seeing them
    largest = max((abs(value) for _, value in marked), default=0.0) or 1.0
    return {
        "number": shown.text, "name": shown.name, "way": shown.way, "suggested": shown.suggested,
        "given": list(shown.given), "seen": shown.seen, "answers": [describe_answer(answer) for answer in answers],
        "probabilities": [{"label": label, "probability": share} for label, share in shown.probabilities.items()],
        "ticked": list(shown.ticked), "marked": [[words, value / largest] for words, value in marked],
    }  # fmt: skip
