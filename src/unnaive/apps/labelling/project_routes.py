"""The routes beside the asking: earlier answers, classes and guidelines, agreement."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.labelling.people import Person
from unnaive.apps.labelling.routes import make_text_view
from unnaive.apps.labelling.session_progress import describe_agreement
from unnaive.base.errors import count_noun
from unnaive.curation.labelling.browse import TextFilter, answers_by_text, describe_text, find_texts
from unnaive.curation.labelling.labelling_session import Labelling

PAGE = 50  # texts of a list that are sent at once
LONGEST_WORDS = 20_000  # characters of the guidelines


class Wanted(BaseModel):
    """The person, and which texts to list."""

    who: str = Field(min_length=1, max_length=100)
    state: str = "all"
    label: str | None = Field(None, max_length=1000)
    words: str | None = Field(None, max_length=10_000)
    by: str | None = Field(None, max_length=100)
    start: int = Field(0, ge=0)


class Bulk(Wanted):
    """The labels for all texts of a list, and how many texts it had when it was shown."""

    labels: list[str] = Field(max_length=1000)
    number: int


class OpenedText(BaseModel):
    """A text to show again, to correct the own answer or to decide."""

    who: str = Field(min_length=1, max_length=100)
    text: int
    decide: bool = False


class ClassChange(BaseModel):
    """A change of a class: see `Labelling.change_class`."""

    who: str = Field(min_length=1, max_length=100)
    kind: str = Field(pattern="^(rename|drop|describe|guidelines)$")
    names: list[str] = Field(min_length=1, max_length=2)
    merge: bool = False


def make_project_router(labelling: Labelling, person: Person) -> APIRouter:
    """The routes for lists of texts, classes and agreement; all of them need the token."""
    router, viewed = APIRouter(prefix="/label"), make_text_view(labelling)

    def wanted_filter(body: Wanted, request: Request) -> TextFilter:
        """What a person may list: with a token for each person, only a reviewer sees the answers of others."""
        by = body.by
        if not person.reviews(request):
            by = None if body.state == "unlabelled" else person.name(request, body.who)
        return TextFilter(body.state, body.label, body.words, by)

    @router.post("/browse")
    @declares(Effect.COMPUTE)
    async def browse(body: Wanted, request: Request) -> Response:
        wanted, own = wanted_filter(body, request), None if person.reviews(request) else person.name(request, body.who)

        def look() -> dict[str, Any]:
            with labelling.lock:
                texts, answers = find_texts(labelling, wanted), answers_by_text(labelling)
                rows = []
                for text in texts[body.start : body.start + PAGE]:
                    given = [one for one in answers.get(text, []) if own in (None, one.who)]
                    row = describe_text(labelling, text, given)
                    rows.append(row if own is None else row | {"labels": None, "reasons": []})
                people = sorted(name for name, votes in labelling.votes.items() if votes) if own is None else [own]
                return {"texts": rows, "number": len(texts), "start": body.start, "people": people}

        return json_response(await run_in_threadpool(look))

    @router.post("/open")
    @declares(Effect.CHANGE)
    async def open_text(body: OpenedText, request: Request) -> Response:
        if body.decide:
            person.check_reviews(request)
        name = person.name(request, body.who)
        await run_in_threadpool(lambda: labelling.open_text(name, body.text, decide=body.decide))
        return await viewed(name)

    @router.post("/bulk")
    @declares(Effect.CHANGE)
    async def label_many(body: Bulk, request: Request) -> Response:
        name, wanted = person.name(request, body.who), wanted_filter(body, request)

        def change() -> int:
            with labelling.lock:
                texts = find_texts(labelling, wanted)
                if len(texts) != body.number:
                    now = count_noun(len(texts), "text")
                    raise Refused(409, f"the list has {now} now, not {body.number:,}; look at it again")
                return labelling.label_many(name, texts, body.labels)

        number = await run_in_threadpool(change)
        return json_response({"labelled": number, "left_out": body.number - number})

    @router.get("/classes")
    @declares(Effect.READ)
    async def classes(request: Request) -> Response:
        def look() -> dict[str, Any]:
            with labelling.lock:
                labelling.sync()
                names, sizes = labelling.class_names, labelling.pool.class_sizes()
                return {
                    "classes": [
                        {"name": name, "texts": sizes[name], "description": names.descriptions.get(name, "")}
                        for name in labelling.pool.classes
                    ],
                    "guidelines": names.guidelines,
                }

        return json_response(await run_in_threadpool(look) | {"reviews": person.reviews(request)})

    @router.post("/classes")
    @declares(Effect.CHANGE)
    async def change_class(body: ClassChange, request: Request) -> Response:
        person.check_reviews(request)
        name = person.name(request, body.who)
        await run_in_threadpool(lambda: labelling.change_class(name, body.kind, *body.names, merge=body.merge))
        return await classes(request)

    @router.get("/agreement")
    @declares(Effect.READ)
    async def agreement() -> Response:
        return json_response(await run_in_threadpool(describe_agreement, labelling))

    return router
