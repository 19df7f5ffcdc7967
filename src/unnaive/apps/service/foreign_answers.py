"""Pydantic models of the answers in the formats of other servers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from unnaive.base.types import Label


class LabelScore(BaseModel):
    """A class and its probability, or its score if the model has no probabilities."""

    label: str
    score: float


class HuggingFaceAnswer(RootModel[list[list[LabelScore]]]):
    """For each text, the classes from the best to the worst."""


class LabelStudioPredictions(BaseModel):
    """PredictedLabels for tasks of Label Studio."""

    results: list[dict[str, Any]]
    model_version: str


class AnnifProject(BaseModel):
    """A model as a project of Annif."""

    project_id: str
    name: str
    language: str
    backend: dict[str, str]
    is_trained: bool
    modification_time: str | None


class AnnifSuggestion(BaseModel):
    """A class, whose name is the URI, and its probability, or a score between 0 and 1."""

    uri: str
    label: str
    notation: str | None
    score: float


class AnnifSuggestions(BaseModel):
    """The best classes of a text, the best first."""

    results: list[AnnifSuggestion]


class PredictAnswer(RootModel[list[LabelScore] | list[list[LabelScore]] | LabelStudioPredictions]):
    """The classes of a text, of each of several texts, or predictions for Label Studio."""


class PredictedLabels(BaseModel):
    """The label of each text, null for none; a list of labels for each text if the model is multilabel."""

    predictions: list[Label | list[Label] | None]


class ServerVersion(RootModel[str]):
    """The version of unnaive."""


class EmbeddingsServerInfo(BaseModel):
    """The server information of text-embeddings-inference."""

    model_id: str
    model_type: dict[str, Any]
    version: str
    max_client_batch_size: int
    models: list[str]


class LabelStudioVersion(BaseModel):
    """The version used for predictions, and what was done."""

    model_version: str
    status: Literal["done", "ignored"] = "done"


class LabelStudioVersions(BaseModel):
    """The version used for predictions, as a list."""

    versions: list[str]


class LabelStudioHealth(BaseModel):
    """Whether the backend is alive."""

    status: Literal["UP"]
    model_class: str


class ServerMetadata(BaseModel):
    """The server's name, version and extensions of the protocol."""

    name: str
    version: str
    extensions: list[str]


class ServerLive(BaseModel):
    """Whether the server is alive."""

    live: bool


class ServerReady(BaseModel):
    """Whether all models are ready."""

    ready: bool


class ModelReady(ServerReady):
    """Whether a model is ready."""

    name: str


class TensorMetadata(BaseModel):
    """A tensor; −1 is the number of texts."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(BaseModel):
    """The tensors of a model, and the version that is served."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class ModelConfig(BaseModel):
    """The model configuration in Triton's format."""

    name: str
    platform: str
    backend: str
    max_batch_size: int
    version_policy: dict[str, Any]
    input: list[dict[str, Any]]
    output: list[dict[str, Any]]
    parameters: dict[str, Any]


class OutputTensor(TensorMetadata):
    """A tensor with its values in row order."""

    data: list[str | float]


class InferAnswer(BaseModel):
    """The labels and probabilities of the texts, and the classes."""

    model_name: str
    model_version: str
    id: str = Field("", description="The id of the request, if it had one.")
    outputs: list[OutputTensor]


class IndexEntry(BaseModel):
    """A model of the repository."""

    name: str
    version: str
    state: Literal["READY", "UNAVAILABLE"]
    reason: str


class RepositoryIndex(RootModel[list[IndexEntry]]):
    """All models."""


class ModelStatistics(BaseModel):
    """How many texts a model has classified since the start."""

    name: str
    version: str
    inference_count: int


class Statistics(BaseModel):
    """The statistics of one model or of all."""

    model_stats: list[ModelStatistics]
