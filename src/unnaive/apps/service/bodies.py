"""Pydantic models of request and response bodies; the OpenAPI description is generated from them."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from unnaive.apps.common.web.refused import Refused
from unnaive.base.types import Label


def _one_of(*names: str) -> dict[str, Any]:
    """JSON schema that requires exactly one of several fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


class Body(BaseModel):
    """A body that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


Absent = SkipJsonSchema[None]  # an optional field that is described without null


class ClassifyRequest(Body):
    """One text or several, and options for the answer."""

    model_config = ConfigDict(json_schema_extra=_one_of("text", "texts"))

    text: str | dict[str, Any] | Absent = Field(
        None, description="One text, or for a model with fields an object with them."
    )
    texts: list[str | dict[str, Any]] | Absent = Field(None, description="A list of texts; give either this or `text`.")
    model: str | None = Field(None, description="The name of a model, see /v1/models; default: the first.")
    top_k: int | None = Field(5, ge=1, description="How many classes to list, the most probable first; null for all.")
    min_probability: float | None = Field(
        None, ge=0, le=1, description="Leave texts undecided whose best probability is lower."
    )
    coverage: float | None = Field(
        None, gt=0, lt=1, description="Also return a set of labels that contains the right one with this probability."
    )
    out_of_scope_rate: float | None = Field(
        None, gt=0, lt=1, description="Label novel texts as unknown; this share of texts of known classes is too."
    )
    explain: bool = Field(False, description="Also return the terms that contributed to the best class.")
    class_: Label | None = Field(None, alias="class", description="Explain this class instead of the best one.")
    against: Label | None = Field(None, description="Explain the difference from this class.")


class ClassValue(BaseModel):
    """A class and its probability, or its score if the model has no probabilities."""

    label: Label
    probability: float | None = None
    score: float | None = None


class TextResult(BaseModel):
    """The result for one text."""

    label: Label | None = Field(description="The label, or the most probable of several; null if there is none.")
    labels: list[Label]
    probability: float | None = Field(None, description="The probability of the label; null if there is none.")
    score: float | None = Field(None, description="The score of the label, if the model has no probabilities.")
    classes: list[ClassValue]
    label_set: list[Label] | None = None
    out_of_scope_score: float | None = Field(
        None, description="How unlike all classes the text is, 0 to 1; with out_of_scope_rate."
    )
    explanation: dict[str, Any] | None = None


class ClassifyAnswer(BaseModel):
    """The results in the order of the texts."""

    model: str
    version: int = Field(description="The number of the version, for display.")
    version_id: str = Field(description="What identifies the version, in every worker and after a restart.")
    results: list[TextResult]


class TableAnswer(BaseModel):
    """A table as it was read."""

    columns: list[str]
    rows: list[list[str]]
    note: str = Field(description="How the file was read, if not as UTF-8.")


class LabelledDocument(Body):
    """A text and its label, or labels."""

    model_config = ConfigDict(json_schema_extra=_one_of("label", "labels"))

    text: str | dict[str, Any] = Field(description="The text, or for a model with fields an object of them.")
    label: Label | Absent = None
    labels: list[Label] | Absent = None


class ChangeRequest(Body):
    """Documents to teach."""

    documents: list[LabelledDocument] = Field(min_length=1)
    new_classes: bool | list[Label] = Field(
        False,
        description="true to add unknown labels as new classes, or a list of those to add. A label that "
        "resembles an existing class, such as Billing and billing, must be listed.",
    )


class ForgetRequest(Body):
    """What to forget: an event that taught documents, some of its documents, or documents by text and label."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["event"]}, {"required": ["documents"]}]})

    event: Annotated[int, Field(ge=1, le=1 << 53)] | Absent = Field(
        None, description="The event number from the answer of /teach."
    )
    documents: Annotated[list[LabelledDocument], Field(min_length=1)] | Absent = Field(
        None, description="Documents with their labels."
    )
    unchecked: bool = Field(
        False,
        description="Also forget documents that were not taught here, if the model cannot tell whether it "
        "has learnt them.",
    )
    new_classes: bool = Field(False, description="Accepted as in /teach; ignored here.")


class UndoRequest(Body):
    """The event to undo."""

    event: int = Field(ge=1, le=1 << 53, description="The event number from the answer of the change.")


class RollbackRequest(Body):
    """The version to restore."""

    version: int = Field(ge=0, le=1 << 53)


class Prediction(BaseModel):
    """A class and its probability, or its score."""

    model_config = ConfigDict(extra="allow")

    label: Label


class PredictionChange(BaseModel):
    """The prediction for a document before and after a change."""

    before: Prediction
    after: Prediction


class ChangeAnswer(BaseModel):
    """A receipt: the change is on disk and applied to the model."""

    model: str
    version: int
    version_id: str
    event: int = Field(description="The number of this change; /undo takes it.")
    taught: int
    forgotten: int
    repeated: bool = Field(description="Whether the idempotency key was used before, so that nothing was repeated.")
    changed: list[PredictionChange] = Field(
        description="The prediction before and after for each document, in their order; for the first 100 of more."
    )
    tuning_lost: bool = Field(
        description="Whether a calibration or a tuned decision was dropped because documents are not kept; "
        "no rollback restores it."
    )
    new_classes: list[Label] = Field([], description="Classes added by this change.")
    undoes: int | None = Field(None, description="The event that this one undoes.")


class ErrorAnswer(BaseModel):
    """One sentence: what came, what was expected, and what to do."""

    model_config = ConfigDict(extra="allow")

    error: str
    similar: dict[str, Label] | Absent = Field(None, description="Labels that resemble a class, each with that class.")
    unknown: list[str] | Absent = Field(None, description="Labels that are not classes of the model.")


class ModelSummary(BaseModel):
    """One of the served models."""

    name: str
    version: int
    version_id: str
    model: str
    title: str
    classes: int
    teachable: bool
    fields: dict[str, str] | None = Field(None, description="Kinds of the fields of its records, by name; null: texts.")


class ModelList(BaseModel):
    """All models; the first is the default."""

    models: list[ModelSummary]


class ModelCard(BaseModel):
    """The card of a model."""

    model_config = ConfigDict(extra="allow")

    name: str
    version: int
    version_id: str
    teachable: bool
    classes: list[dict[str, Any]]
    history: list[dict[str, Any]] = Field([], description="Measures by version, newest first.")


class VersionList(BaseModel):
    """The events of a model, newest first."""

    current: int
    current_id: str
    versions: list[dict[str, Any]]
    next: int | None = Field(description="The value of `before` for the next page; null at the end.")


class Status(BaseModel):
    """The state of the service."""

    status: str
    problems: list[str] | Absent = Field(None, description="What is wrong with the models, if anything is.")


# requests of other tools
class Foreign(BaseModel):
    """A body that may have fields that we do not need."""

    model_config = ConfigDict(extra="ignore")


class Parameters(BaseModel):
    """A body whose unknown fields ask for something that we cannot do, unless they are null."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        return (
            {name: value for name, value in values.items() if value is not None} if isinstance(values, dict) else values
        )


class HuggingFaceParameters(Parameters):
    """Parameters of Hugging Face's text-classification task; others, such as candidate_labels, are refused."""

    top_k: int | None = Field(None, ge=1)


class HuggingFaceRequest(Parameters):
    """A request of Hugging Face's text-classification task; `options` are about the cache of its hub."""

    inputs: str | list[str | dict[str, Any]] | dict[str, Any]
    parameters: HuggingFaceParameters | None = None
    options: dict[str, Any] | None = None


class PredictRequest(BaseModel):
    """A request of text-embeddings-inference (`inputs`) or of Label Studio (`tasks`)."""

    model_config = ConfigDict(extra="allow")

    inputs: str | dict[str, Any] | list[str | dict[str, Any] | list[str]] | None = None
    raw_scores: bool = False
    truncate: bool | None = Field(None, description="Accepted; a text is read as a whole, however long it is.")
    truncation_direction: str | None = None
    tasks: list[dict[str, Any]] | None = None
    label_config: str | None = None


class Tensor(Foreign):
    """A tensor of the Open Inference Protocol."""

    name: str
    shape: list[int]
    datatype: str
    data: Any = None
    parameters: dict[str, Any] | None = None


class RequestedOutput(Foreign):
    """An output that a client of the Open Inference Protocol asks for."""

    name: str


class InferRequest(Foreign):
    """An inference request of the Open Inference Protocol."""

    id: str | None = None
    inputs: list[Tensor] = Field(min_length=1)
    outputs: list[RequestedOutput] | None = None


class NoParameters(Parameters):
    """Nothing."""


class SplitFrame(Foreign):
    """A data frame as MLflow sends it."""

    columns: list[Any] | None = None
    data: list[list[Any]]


class InvocationsRequest(Parameters):
    """A request to MLflow's scoring server, in one of its four formats; no model has `params`."""

    params: NoParameters | None = None
    inputs: Any = None
    instances: Any = None
    dataframe_split: SplitFrame | None = None
    dataframe_records: list[dict[str, Any]] | None = None


class LabelStudioSetup(Foreign):
    """The message that Label Studio sends when it connects."""

    project: Any = None
    label_config: str | None = Field(None, alias="schema")


class Webhook(Foreign):
    """The message that Label Studio sends when an annotation changes."""

    action: str = ""  # missing in requests to train
    annotation: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    task: dict[str, Any] | None = None
    project: dict[str, Any] | None = None

    @field_validator("project", mode="before")
    @classmethod
    def _only_objects(cls, value: Any) -> Any:
        """In requests to train, Label Studio sends the project's number or name in this field."""
        return value if isinstance(value, dict) else None


def refuse_unknown(query: PredictRequest) -> None:
    """Refuse fields that the format of text-embeddings-inference has not."""
    unknown = [name for name, value in (query.model_extra or {}).items() if value is not None]
    if unknown:
        raise Refused(422, f"field {unknown[0]} of the request: Extra inputs are not permitted")


_TRIED_TYPE = re.compile(r"str|int|bool|float|(?:list|dict|union|json-or-python|function-[a-z]+)\[.*\]")
AnyBody = TypeVar("AnyBody", bound=BaseModel)


def parse(kind: type[AnyBody], body: bytes) -> AnyBody:
    """Parse a body; on failure, refuse with status 422 and a sentence that names the first wrong field."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False)
        path = errors[0]["loc"]
        # pydantic adds the type that it tried in a union, such as str or dict[str,any], to the path of the value
        location = ".".join(str(part) for part in path if not _TRIED_TYPE.fullmatch(str(part)))
        wrong = f"field {location}" if location else "the body"
        tried = {str(error["loc"][-1]) for error in errors if error["loc"] and error["loc"][:-1] == path[:-1]}
        expected = "Input should be a string or an object" if tried >= {"str", "dict[str,any]"} else errors[0]["msg"]
        if path[-1:] == ("fields",) and errors[0]["type"] == "extra_forbidden":
            expected = 'send the fields of a record in the place of a text: {"text": {"FIELD": VALUE, …}}'
        raise Refused(422, f"{wrong} of the request: {expected}") from problem
