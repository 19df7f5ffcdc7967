"""The ML backend of Label Studio: predictions for its tasks, and learning from its annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from fastapi import APIRouter, Request, Response

from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service import bodies, foreign_answers
from unnaive.apps.service.classify import read_given, reads_records
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.served import ServedModel
from unnaive.base.types import Label
from unnaive.curation.teaching.changes import Document
from unnaive.learning.fitted import FittedModel

CREATED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
CONFIG = "label-studio configuration"  # the name of this setting in a model's record
NAMES = ("choice", "text", "text")  # defaults: names of the control, of the labelled object, and of the task's field


def make_label_studio_router(models: Models) -> APIRouter:
    """The routes except /predict, which is shared with text-embeddings-inference."""
    router = APIRouter()

    @router.post("/setup", **described(bodies.LabelStudioSetup, foreign_answers.LabelStudioVersion, 401, 404))
    @declares(Effect.CHANGE)
    async def setup(request: Request, model: str | None = None) -> Response:
        """Label Studio connects: its labelling configuration defines the control names for predictions."""
        project = bodies.parse(bodies.LabelStudioSetup, await request.body())
        served = models.find(model)
        read_config(project.label_config)  # refuses an unusable configuration before it is stored
        await models.change(served, served.keep_setting, CONFIG, project.label_config or "")
        return json_response({"model_version": _version(served)})

    @router.get("/health", **described(None, foreign_answers.LabelStudioHealth))
    @declares(Effect.HEALTH)
    async def health() -> Response:
        """Whether the backend is alive."""
        return json_response({"status": "UP", "model_class": "unnaive"})

    @router.get("/versions", **described(None, foreign_answers.LabelStudioVersions, 404))
    @declares(Effect.READ)
    async def model_versions(model: str | None = None) -> Response:
        """The version used for predictions."""
        return json_response({"versions": [_version(models.find(model))]})

    @router.post("/webhook", **described(bodies.Webhook, foreign_answers.LabelStudioVersion, 401, 403, 404, 409))
    @declares(Effect.CHANGE)
    async def webhook(request: Request, model: str | None = None, new_classes: bool = False) -> Response:
        """A created or changed annotation teaches, a deleted one forgets; repeating an event has no effect.

        Choices that are not classes of the model are refused unless `new_classes` is set, here or when the service was
        started.
        """
        event = bodies.parse(bodies.Webhook, await request.body())
        served = models.find(model)
        config = (event.project or {}).get("label_config") or await models.work(served.setting, CONFIG)
        allowed = new_classes or models.new_classes
        done = []
        for source, document in annotation_changes(event, config, served.version.fitted):
            answer = await models.change(served, served.replace_source, source, document, new_classes=allowed)
            models.count_change(served, answer)
            done.append(answer["version"])
        return json_response({"status": "done" if done else "ignored", "model_version": _version(served)})

    return router


def _version(model: ServedModel) -> str:
    return f"{model.name}-{model.version.id}"


def read_config(config: str | None, classes: Sequence[Label] = ()) -> tuple[str, str, str]:
    """The names of the Choices control and of the object it labels, and the task field that holds the text.

    Of several controls it is the one with the most choices that are classes of the model, or the first.

    >>> read_config('<View><Text name="t" value="$body"/><Choices name="c" toName="t"/></View>')
    ('c', 't', 'body')
    """
    if not config:
        return NAMES
    if "<!DOCTYPE" in config or "<!ENTITY" in config:
        raise Refused(422, "the labelling configuration has a DOCTYPE or entities; remove them")
    try:
        root = ElementTree.fromstring(config)  # noqa: S314  # there are no entities, as checked above
    except ElementTree.ParseError as problem:
        raise Refused(
            422, f"the labelling configuration is not XML ({problem}); correct it in Label Studio"
        ) from problem
    controls = root.findall(".//Choices")
    if not controls:
        raise Refused(422, "the labelling configuration has no Choices control for the label of a text; add one")
    names = {str(label) for label in classes}
    choices = max(controls, key=lambda control: len(names & {one.get("value") for one in control.iter("Choice")}))
    target = choices.get("toName", NAMES[1])
    labelled = next((element for element in root.iter() if element.get("name") == target), None)
    value = NAMES[2] if labelled is None else labelled.get("value", "$" + NAMES[2])
    return choices.get("name", NAMES[0]), target, value.lstrip("$")


async def predict_tasks(
    models: Models, model: ServedModel, tasks: list[dict[str, Any]], config: str | None
) -> dict[str, Any]:
    """Predictions for tasks in Label Studio's format."""
    fitted = model.version.fitted
    control, target, field = read_config(config, fitted.classes)
    texts = models.limits.check_texts(
        read_given(fitted, [task_record(fitted, task) or task_text(task, field) for task in tasks])
    )
    scored = await models.score(model, texts)
    answers, version = scored.answers, f"{model.name}-{scored.version.id}"
    results = []
    for labels, ranked in zip(answers.labels(), answers.ranked(1), strict=True):
        choice = {
            "from_name": control, "to_name": target, "type": "choices",
            "value": {"choices": [str(label) for label in labels]}, "score": ranked[0][1],
        }  # fmt: skip
        results.append({"result": [choice], "score": ranked[0][1], "model_version": version})
    return {"results": results, "model_version": version}


def task_record(fitted: FittedModel, task: dict[str, Any]) -> dict[str, Any] | None:
    """The data of a task if the model reads records; None if it reads texts."""
    data = task.get("data", task)
    return data if reads_records(fitted) and isinstance(data, dict) else None


def task_text(task: dict[str, Any], field: str) -> str:
    """The text of a task: the field named in the configuration, or its only string."""
    data = task.get("data", task)
    text = data.get(field) if isinstance(data, dict) else None
    if text is None and isinstance(data, dict):
        strings = [value for value in data.values() if isinstance(value, str)]
        text = strings[0] if len(strings) == 1 else None
    if not isinstance(text, str):
        raise Refused(
            422, f"a task has no text in its field {field!r}; correct the task or the labelling configuration"
        )
    return text


def taught_text(task: dict[str, Any], config: str | None, classes: Sequence[Label] = ()) -> str:
    """The text of a task to be taught; without a configuration, no field takes precedence."""
    if config:
        return task_text(task, read_config(config, classes)[2])
    data = task.get("data", task)
    strings = [value for value in data.values() if isinstance(value, str)] if isinstance(data, dict) else []
    if len(strings) != 1:
        raise Refused(
            409,
            f"a task has {len(strings)} fields with text, and the labelling configuration, which says which one is "
            "labelled, is missing; connect the model in Label Studio again",
        )
    return strings[0]


def annotation_changes(
    event: bodies.Webhook, config: str | None, fitted: FittedModel
) -> list[tuple[str, Document | None]]:
    """(source, current document) for each annotation in a webhook."""
    if event.action not in (*CREATED, *DELETED):
        return []
    annotations = event.annotations if event.annotations is not None else [event.annotation or {}]
    changes: list[tuple[str, Document | None]] = []
    for annotation in annotations:
        if "id" not in annotation:
            raise Refused(422, "an annotation has no id")
        source = f"label-studio annotation {annotation['id']}"
        control = read_config(config, fitted.classes)[0] if config else None
        labels = [] if event.action in DELETED else _choices(annotation, control)
        if event.action in DELETED or annotation.get("was_cancelled") or not labels:
            changes.append((source, None))
        else:
            task = event.task or annotation.get("task")
            if not isinstance(task, dict):
                raise Refused(422, "the webhook has no task; let Label Studio send the payload")
            (text,) = read_given(fitted, [task_record(fitted, task) or taught_text(task, config, fitted.classes)])
            changes.append((source, Document(text, tuple(labels), source)))
    return changes


def _choices(annotation: dict[str, Any], control: str | None) -> list[str]:
    """The choices of a control; without its name, of the only one."""
    results = annotation.get("result")
    if not isinstance(results, list):
        raise Refused(422, "an annotation has no result")
    labels: dict[str | None, list[str]] = {}  # by control
    for result in results:
        value = result.get("value") if isinstance(result, dict) else None
        choices = value.get("choices") if isinstance(value, dict) else None
        if isinstance(choices, list):
            labels.setdefault(result.get("from_name"), []).extend(map(str, choices))
    if control is not None:
        return labels.get(control, []) + labels.get(None, [])
    if len(labels) > 1:
        raise Refused(
            409,
            f"an annotation has choices of {len(labels)} controls ({', '.join(map(str, labels))}), and the labelling "
            "configuration, which says which of them the model learns, is missing; connect the model in Label Studio "
            "again",
        )
    return next(iter(labels.values()), [])
