"""The bodies of requests and answers: their pydantic models, which the OpenAPI description is made of."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.json_schema import SkipJsonSchema

from unnaive.apps.service.refused import Refused
from unnaive.base.types import Label


def _one_of(*names: str) -> dict[str, Any]:
    """JSON schema that asks for exactly one of some fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


class Body(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


Absent = SkipJsonSchema[None]  # a field that may be left out, and is described without null


class ClassifyRequest(Body):
    """One text or several, and what to say of them."""

    model_config = ConfigDict(json_schema_extra=_one_of("text", "texts"))

    text: str | dict[str, Any] | Absent = Field(
        None, description="One text, or for a model with fields an object of them."
    )
    texts: list[str | dict[str, Any]] | Absent = Field(None, description="Several of them; give this or `text`.")
    model: str | None = Field(None, description="A name of /v1/models; the first of them by default.")
    top_k: int | None = Field(5, ge=1, description="How many classes to list, the most probable first; null for all.")
    threshold: float | None = Field(None, ge=0, le=1, description="List only classes with at least this probability.")
    confidence: float | None = Field(
        None, gt=0, lt=1, description="Also give the set of labels that holds the right one with this probability."
    )
    unknown_rate: float | None = Field(
        None, gt=0, lt=1, description="Label texts unlike all classes unknown, as this share of the classes' own texts."
    )
    explain: bool = Field(False, description="Also say which terms spoke for the best class.")
    label: Label | None = Field(None, description="Explain this class instead of the best one.")
    against: Label | None = Field(None, description="Explain against this class.")


class ClassValue(BaseModel):
    """A class and its probability, or its score where the model has no probabilities."""

    label: Label
    probability: float | None = None
    score: float | None = None


class TextResult(BaseModel):
    """What the model says of one text."""

    label: Label | None = Field(description="The label, of several the most probable; null where none was given.")
    labels: list[Label]
    classes: list[ClassValue]
    set: list[Label] | None = None
    novelty: float | None = Field(None, description="How unlike all classes it is, 0 to 1; with unknown_rate.")
    explanation: dict[str, Any] | None = None


class ClassifyAnswer(BaseModel):
    """The results in the order of the texts."""

    model: str
    version: int
    results: list[TextResult]


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
        description="Whether labels that the model does not know become new classes, or which of them. A label that "
        "looks like a class that there is, such as Billing beside billing, must be named.",
    )


class ForgetRequest(Body):
    """What to forget: an event that taught, some documents of it, or documents by text and label."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["event"]}, {"required": ["documents"]}]})

    event: Annotated[int, Field(ge=1, le=1 << 53)] | Absent = Field(
        None, description="The number that the answer of /teach gave."
    )
    documents: Annotated[list[LabelledDocument], Field(min_length=1)] | Absent = Field(
        None, description="Documents, with their labels."
    )
    unchecked: bool = Field(
        False,
        description="Also forget documents that were not taught here, and of which the model cannot tell whether it "
        "learnt them.",
    )
    new_classes: bool = Field(False, description="Of /teach; has no effect here.")


class UndoRequest(Body):
    """The event to take back."""

    event: int = Field(ge=1, le=1 << 53, description="The number that the answer of the change gave.")


class RollbackRequest(Body):
    """The version to go back to."""

    version: int = Field(ge=0, le=1 << 53)


class ChangeAnswer(BaseModel):
    """A receipt: the documents are on disk, and the model has them."""

    model: str
    version: int
    event: int = Field(description="The number of this change, by which it can be taken back.")
    taught: int
    forgotten: int
    repeated: bool = Field(description="Whether the idempotency key was seen before, and nothing was done again.")
    changed: list[dict[str, Any]] = Field(description="The prediction of each document before and after.")
    tuning_lost: bool = Field(
        description="Whether a calibration or a tuned decision ended, since the documents are not kept; "
        "no rollback restores it."
    )
    new_classes: list[Label] = Field([], description="Classes that the model has since this change.")
    undoes: int | None = Field(None, description="The event that this one takes back.")


class ErrorAnswer(BaseModel):
    """One sentence that says what came, what was expected and what to do."""

    model_config = ConfigDict(extra="allow")

    error: str
    similar: dict[str, Label] | Absent = Field(None, description="Labels that look like a class, and the class.")
    unknown: list[str] | Absent = Field(None, description="Labels that are no classes of the model.")


class ModelSummary(BaseModel):
    """A model of the service."""

    name: str
    version: int
    model: str
    title: str
    classes: int
    teachable: bool


class ModelList(BaseModel):
    """All models; the first one answers requests that name none."""

    models: list[ModelSummary]


class ModelCard(BaseModel):
    """All there is to know of a model."""

    model_config = ConfigDict(extra="allow")

    name: str
    version: int
    teachable: bool
    classes: list[dict[str, Any]]
    history: list[dict[str, Any]] = Field([], description="Measures by version, the newest first.")


class VersionList(BaseModel):
    """The events of a model, the newest first."""

    current: int
    versions: list[dict[str, Any]]


class Status(BaseModel):
    """How the service is."""

    status: str


# what other tools send; they may add fields that we do not know
class Foreign(BaseModel):
    """A body that may have more fields than we read."""

    model_config = ConfigDict(extra="ignore")


class HuggingFaceParameters(Foreign):
    """Parameters of Hugging Face's text-classification task."""

    top_k: int | None = Field(None, ge=1)
    function_to_apply: str | None = None


class HuggingFaceRequest(Foreign):
    """A request of Hugging Face's text-classification task."""

    inputs: str | list[str] | dict[str, Any]
    parameters: HuggingFaceParameters | None = None


class PredictRequest(Foreign):
    """A request of text-embeddings-inference (`inputs`) or of Label Studio (`tasks`)."""

    inputs: str | list[str] | list[list[str]] | None = None
    raw_scores: bool = False
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


class SplitFrame(Foreign):
    """A data frame as MLflow sends it."""

    columns: list[Any] | None = None
    data: list[list[Any]]


class InvocationsRequest(Foreign):
    """A request to MLflow's scoring server: one of the four forms."""

    inputs: Any = None
    instances: Any = None
    dataframe_split: SplitFrame | None = None
    dataframe_records: list[dict[str, Any]] | None = None


class LabelStudioSetup(Foreign):
    """What Label Studio says when it connects."""

    project: Any = None
    label_config: str | None = Field(None, alias="schema")


class Webhook(Foreign):
    """What Label Studio says when somebody annotates."""

    action: str = ""  # asked to train, it may send none
    annotation: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    task: dict[str, Any] | None = None
    project: dict[str, Any] | None = None

    @field_validator("project", mode="before")
    @classmethod
    def _only_objects(cls, value: Any) -> Any:
        """Asked to train, Label Studio sends the project's number or name in its place."""
        return value if isinstance(value, dict) else None


AnyBody = TypeVar("AnyBody", bound=BaseModel)


def parse(kind: type[AnyBody], body: bytes) -> AnyBody:
    """The body as a value, or a sentence with status 422 that names the first field that is wrong."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        wrong = f"field {place}" if place else "the body"
        raise Refused(422, f"{wrong} of the request: {first['msg']}") from problem
