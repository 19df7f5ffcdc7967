"""The ML backend of Label Studio: suggestions for its tasks, and learning from its annotations."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from fastapi import APIRouter, Request, Response

from unnaive.apps.service import bodies
from unnaive.apps.service.changes import Document
from unnaive.apps.service.effects import Effect, declares
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.refused import Refused
from unnaive.apps.service.routes import json_response
from unnaive.apps.service.served import ServedModel

CREATED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
CONFIG = "label-studio configuration"  # the name under which a model's record keeps it
NAMES = ("choice", "text", "text")  # of the control, of what it labels, and of the field of a task, unless told


def make_label_studio_router(models: Models) -> APIRouter:
    """The routes besides /predict, which text-embeddings-inference has too."""
    router = APIRouter()

    @router.post("/setup", **described(bodies.LabelStudioSetup, bodies.Foreign, 401, 404))
    @declares(Effect.CHANGE)
    async def setup(request: Request, model: str | None = None) -> Response:
        """Label Studio connects: its labelling configuration names the controls that predictions must name."""
        asked = bodies.parse(bodies.LabelStudioSetup, await request.body())
        found = models.find(model)
        read_config(asked.label_config)  # which refuses what cannot be used; only then is it kept
        await models.change(found.keep_setting, CONFIG, asked.label_config or "")
        return json_response({"model_version": _version(found)})

    @router.get("/health", **described(None, bodies.Foreign))
    @declares(Effect.HEALTH)
    async def health() -> Response:
        """Whether the backend lives."""
        return json_response({"status": "UP", "model_class": "unnaive"})

    @router.get("/versions", **described(None, bodies.Foreign, 404))
    @declares(Effect.READ)
    async def model_versions(model: str | None = None) -> Response:
        """The version that makes predictions."""
        return json_response({"versions": [_version(models.find(model))]})

    @router.post("/webhook", **described(bodies.Webhook, bodies.Foreign, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def webhook(request: Request, model: str | None = None, new_classes: bool = False) -> Response:
        """A created or changed annotation teaches, a deleted one forgets; the same event twice does nothing.

        Choices that are no classes of the model are refused, unless `new_classes`, or the service was started so.
        """
        asked = bodies.parse(bodies.Webhook, await request.body())
        found = models.find(model)
        config = (asked.project or {}).get("label_config") or await models.work(found.setting, CONFIG)
        grow = new_classes or models.grow
        done = []
        for source, document in annotation_changes(asked, config):
            one = await models.change(found.replace_source, source, document, new_classes=grow)
            models.count_change(found, one)
            done.append(one["version"])
        return json_response({"status": "done" if done else "ignored", "model_version": _version(found)})

    return router


def _version(model: ServedModel) -> str:
    return f"{model.name}-{model.version.number}"


def read_config(config: str | None) -> tuple[str, str, str]:
    """Names of the Choices control and of the object it labels, and the field of a task with the text.

    >>> read_config('<View><Text name="t" value="$body"/><Choices name="c" toName="t"/></View>')
    ('c', 't', 'body')
    """
    if not config:
        return NAMES
    if "<!DOCTYPE" in config or "<!ENTITY" in config:
        raise Refused(422, "the labelling configuration has a DOCTYPE or entities, which are not read")
    try:
        root = ElementTree.fromstring(config)  # noqa: S314  # no entities, as was just checked
    except ElementTree.ParseError as problem:
        raise Refused(422, f"the labelling configuration is not XML: {problem}") from problem
    choices = root.find(".//Choices")
    if choices is None:
        raise Refused(422, "the labelling configuration has no Choices; unnaive suggests classes of whole texts")
    target = choices.get("toName", NAMES[1])
    labelled = next((one for one in root.iter() if one.get("name") == target), None)
    value = NAMES[2] if labelled is None else labelled.get("value", "$" + NAMES[2])
    return choices.get("name", NAMES[0]), target, value.lstrip("$")


async def predict_tasks(
    models: Models, model: ServedModel, tasks: list[dict[str, Any]], config: str | None
) -> dict[str, Any]:
    """Suggestions for tasks in Label Studio's form."""
    control, target, field = read_config(config)
    texts = models.check_texts([task_text(one, field) for one in tasks])
    scored = await models.score(model, texts)
    answers, version = scored.answers, f"{model.name}-{scored.version.number}"
    results = []
    for labels, ranked in zip(answers.labels(), answers.ranked(1), strict=True):
        choice = {
            "from_name": control, "to_name": target, "type": "choices",
            "value": {"choices": [str(label) for label in labels]}, "score": ranked[0][1],
        }  # fmt: skip
        results.append({"result": [choice], "score": ranked[0][1], "model_version": version})
    return {"results": results, "model_version": version}


def task_text(task: dict[str, Any], field: str) -> str:
    """The text of a task: the field that the configuration names, or its only string."""
    data = task.get("data", task)
    found = data.get(field) if isinstance(data, dict) else None
    if found is None and isinstance(data, dict):
        strings = [one for one in data.values() if isinstance(one, str)]
        found = strings[0] if len(strings) == 1 else None
    if not isinstance(found, str):
        raise Refused(422, f"a task has no text in its field {field!r}")
    return found


def taught_text(task: dict[str, Any], config: str | None) -> str:
    """The text of a task that is to be taught: without a configuration, no field is preferred to others."""
    if config:
        return task_text(task, read_config(config)[2])
    data = task.get("data", task)
    strings = [one for one in data.values() if isinstance(one, str)] if isinstance(data, dict) else []
    if len(strings) != 1:
        raise Refused(
            409,
            f"a task has {len(strings)} fields with text, and Label Studio's configuration, which says what is "
            "labelled, is not known; connect the model in Label Studio again",
        )
    return strings[0]


def annotation_changes(asked: bodies.Webhook, config: str | None) -> list[tuple[str, Document | None]]:
    """(source, what it stands for now) of each annotation in a webhook."""
    if asked.action not in (*CREATED, *DELETED):
        return []
    given = asked.annotations if asked.annotations is not None else [asked.annotation or {}]
    found: list[tuple[str, Document | None]] = []
    for one in given:
        if "id" not in one:
            raise Refused(422, "an annotation has no id")
        source = f"label-studio annotation {one['id']}"
        labels = [] if asked.action in DELETED else _choices(one)
        if asked.action in DELETED or one.get("was_cancelled") or not labels:
            found.append((source, None))
        else:
            task = asked.task or one.get("task")
            if not isinstance(task, dict):
                raise Refused(422, "the webhook has no task; let Label Studio send its payload")
            found.append((source, Document(taught_text(task, config), tuple(labels), source)))
    return found


def _choices(annotation: dict[str, Any]) -> list[str]:
    results = annotation.get("result")
    if not isinstance(results, list):
        raise Refused(422, "an annotation has no result")
    found: list[str] = []
    for one in results:
        value = one.get("value") if isinstance(one, dict) else None
        choices = value.get("choices") if isinstance(value, dict) else None
        found += [str(choice) for choice in choices] if isinstance(choices, list) else []
    return found
