"""The Open Inference Protocol V2, so that clients of Triton and KServe work unchanged."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request, Response

from unnaive import __version__
from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service import bodies, foreign_answers
from unnaive.apps.service.binary_tensors import read_binary_tensors
from unnaive.apps.service.classify import read_given
from unnaive.apps.service.field_tensors import describe_field_tensors, read_field_tensors
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.served import ServedModel
from unnaive.text.field import Fields

INPUT = "text"  # the tensor with the texts
TRITON_TYPES = {"BYTES": "TYPE_STRING", "FP64": "TYPE_FP64"}
HEADER_LENGTH = "inference-header-content-length"  # length of the JSON part if binary tensors follow


def add_open_inference(router: APIRouter, models: Models) -> None:
    """Add the routes of the protocol."""

    @router.get("/v2", **described(None, foreign_answers.ServerMetadata))
    @declares(Effect.READ)
    async def server() -> Response:
        """The server's name and version."""
        return json_response({"name": "unnaive", "version": __version__, "extensions": ["binary_tensor_data"]})

    @router.get("/v2/health/live", **described(None, foreign_answers.ServerLive))
    @declares(Effect.HEALTH)
    async def live() -> Response:
        """Whether the server is alive."""
        return json_response({"live": True})

    @router.get("/v2/health/ready", **described(None, foreign_answers.ServerReady, 503))
    @declares(Effect.HEALTH)
    async def ready() -> Response:
        """Whether all models are ready, as /readyz says."""
        is_ready = models.problem is None
        return json_response({"ready": is_ready}, 200 if is_ready else 503)

    @router.post("/v2/repository/index", **described(None, foreign_answers.RepositoryIndex))
    @declares(Effect.COMPUTE)
    async def index() -> Response:
        """All models with their versions, and whether they are ready."""
        return json_response([describe_entry(model) for model in models])

    @router.get("/v2/models/stats", **described(None, foreign_answers.Statistics))
    @declares(Effect.READ)
    async def statistics_of_all() -> Response:
        """How many texts each model has classified since the start."""
        return describe_statistics(models, list(models))

    @router.get("/v2/models/{name}/stats", **described(None, foreign_answers.Statistics, 404))
    @declares(Effect.READ)
    async def statistics(name: str) -> Response:
        """How many texts a model has classified since the start."""
        return describe_statistics(models, [models.find(name)])

    @router.get("/v2/models/{name}", **described(None, foreign_answers.ModelMetadata, 404))
    @declares(Effect.READ)
    async def metadata(name: str) -> Response:
        """The input and output tensors of a model."""
        return describe_tensors(models.find(name))

    @router.get("/v2/models/{name}/versions/{version}", **described(None, foreign_answers.ModelMetadata, 404))
    @declares(Effect.READ)
    async def metadata_of_version(name: str, version: str) -> Response:
        """The tensors of a version, which must be the current one."""
        return describe_tensors(find_served_version(models, name, version))

    @router.get("/v2/models/{name}/config", **described(None, foreign_answers.ModelConfig, 404))
    @declares(Effect.READ)
    async def config(name: str) -> Response:
        """The model configuration in Triton's format."""
        return describe_config(models.find(name), models.limits.batch)

    @router.get("/v2/models/{name}/versions/{version}/config", **described(None, foreign_answers.ModelConfig, 404))
    @declares(Effect.READ)
    async def config_of_version(name: str, version: str) -> Response:
        """The configuration of a version, which must be the current one."""
        return describe_config(find_served_version(models, name, version), models.limits.batch)

    @router.get("/v2/models/{name}/ready", **described(None, foreign_answers.ModelReady, 404))
    @declares(Effect.READ)
    async def model_ready(name: str) -> Response:
        """Whether a model is ready."""
        return describe_readiness(models.find(name))

    @router.get("/v2/models/{name}/versions/{version}/ready", **described(None, foreign_answers.ModelReady, 404))
    @declares(Effect.READ)
    async def version_ready(name: str, version: str) -> Response:
        """Whether a version is current and ready."""
        return describe_readiness(find_served_version(models, name, version))

    @router.post("/v2/models/{name}/infer", **described(bodies.InferRequest, foreign_answers.InferAnswer, 404))
    @declares(Effect.COMPUTE)
    async def infer(name: str, request: Request) -> Response:
        """The label of each text of the input tensor, and the probabilities of all classes."""
        return await infer_tensors(models, models.find(name), request)

    @router.post(
        "/v2/models/{name}/versions/{version}/infer", **described(bodies.InferRequest, foreign_answers.InferAnswer, 404)
    )
    @declares(Effect.COMPUTE)
    async def infer_version(name: str, version: str, request: Request) -> Response:
        """Inference with a version, which must be the current one."""
        return await infer_tensors(models, find_served_version(models, name, version), request)


def describe_entry(model: ServedModel) -> dict[str, Any]:
    """The entry of a model in the repository's index."""
    problem = model.problems.preventing
    state = "READY" if problem is None else "UNAVAILABLE"
    return {"name": model.name, "version": model.version.id, "state": state, "reason": problem or ""}


def describe_statistics(models: Models, wanted: list[ServedModel]) -> Response:
    """The statistics of some models in Triton's format, as far as the metrics have them."""
    return json_response({
        "model_stats": [
            {"name": model.name, "version": model.version.id, "inference_count": models.metrics.count_texts(model.name)}
            for model in wanted
        ]
    })  # fmt: skip


def find_served_version(models: Models, name: str, version: str) -> ServedModel:
    """Find a model; refused unless the requested version is the current one."""
    model = models.find(name)
    if version != model.version.id:
        raise Refused(404, f"version {version!r} of {name} is not served; the current one is {model.version.id}")
    return model


def describe_tensors(model: ServedModel) -> Response:
    """The input and output tensors of a model."""
    classes = len(model.version.fitted.classes)
    return json_response({
        "name": model.name, "versions": [model.version.id], "platform": "unnaive",
        "inputs": describe_inputs(model),
        "outputs": [
            {"name": "label", "datatype": "BYTES", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP64", "shape": [-1, classes]},
            {"name": "classes", "datatype": "BYTES", "shape": [classes]},
        ],
    })  # fmt: skip


def describe_inputs(model: ServedModel) -> list[dict[str, Any]]:
    """The input tensors: one of texts, or one for each field of the model's records."""
    fields = _fields(model)
    return [{"name": INPUT, "datatype": "BYTES", "shape": [-1]}] if fields is None else describe_field_tensors(fields)


def _fields(model: ServedModel) -> Fields | None:
    rule = model.version.fitted.token_rule
    return None if rule is None else rule.fields


def describe_config(model: ServedModel, batch: int) -> Response:
    """The model configuration in Triton's format; the first dimension is the number of texts."""
    classes = len(model.version.fitted.classes)
    return json_response({
        "name": model.name, "platform": "unnaive", "backend": "unnaive", "max_batch_size": 0,
        "version_policy": {"specific": {"versions": [model.version.id]}},
        "input": [
            {"name": tensor["name"], "data_type": TRITON_TYPES[tensor["datatype"]], "dims": tensor["shape"]}
            for tensor in describe_inputs(model)
        ],
        "output": [
            {"name": "label", "data_type": "TYPE_STRING", "dims": [-1]},
            {"name": "probabilities", "data_type": "TYPE_FP64", "dims": [-1, classes]},
            {"name": "classes", "data_type": "TYPE_STRING", "dims": [classes]},
        ],
        "parameters": {"max_texts": {"string_value": str(batch)}},
    })  # fmt: skip


def describe_readiness(model: ServedModel) -> Response:
    """Whether a model is ready."""
    is_ready = model.problems.preventing is None
    return json_response({"name": model.name, "ready": is_ready}, 200 if is_ready else 503)


async def infer_tensors(models: Models, model: ServedModel, request: Request) -> Response:
    """The label of each text of the input tensor, or of each record of field tensors, and all probabilities."""
    query, inputs = read_tensors(await request.body(), request.headers.get(HEADER_LENGTH), _fields(model))
    texts = read_given(model.version.fitted, inputs)
    scored = await models.score(model, models.limits.check_texts(texts))
    version, answers = scored.version, scored.answers
    outputs = [
        {"name": "label", "datatype": "BYTES", "shape": [len(texts)],
         "data": [";".join(map(str, labels)) for labels in answers.labels()]},
        {"name": "probabilities", "datatype": "FP64", "shape": list(answers.values.shape),
         "data": answers.values.ravel().tolist()},
        {"name": "classes", "datatype": "BYTES", "shape": [len(version.fitted.classes)],
         "data": list(map(str, version.fitted.classes))},
    ]  # fmt: skip
    wanted = None if query.outputs is None else {output.name for output in query.outputs}
    unknown = sorted((wanted or set()) - {str(output["name"]) for output in outputs})
    if unknown:
        raise Refused(422, f"there is no output called {unknown[0]!r}; there are classes, label, probabilities")
    return json_response({
        "model_name": model.name, "model_version": version.id, **({"id": query.id} if query.id else {}),
        "outputs": [output for output in outputs if wanted is None or output["name"] in wanted],
    })  # fmt: skip


def read_tensors(
    body: bytes, header_length: str | None, fields: Fields | None = None
) -> tuple[bodies.InferRequest, list[Any]]:
    """The request and its texts, or the records of a model with `fields`.

    Texts are in the JSON or follow it in binary, each after its length in four bytes. A single tensor called
    `text` has texts, also if the model has fields.
    """
    length = len(body) if header_length is None else read_length(header_length, len(body))
    query = bodies.parse(bodies.InferRequest, body[:length])
    read_binary_tensors(query.inputs, body[length:])
    if fields is not None and [tensor.name for tensor in query.inputs] != [INPUT]:
        records = read_field_tensors(query.inputs, fields)
        if records is not None:
            return query, records
    tensor = next((tensor for tensor in query.inputs if tensor.name == INPUT), query.inputs[0])
    if tensor.datatype != "BYTES":
        raise Refused(422, f"the input {tensor.name!r} has datatype {tensor.datatype}; send texts as BYTES")
    values = tensor.data if isinstance(tensor.data, list) else [tensor.data]
    while any(isinstance(value, list) for value in values):
        if not all(isinstance(value, list) for value in values):
            raise Refused(
                400, f"the input {tensor.name!r} mixes lists and other values; give strings, or rows of strings"
            )
        values = [value for row in values for value in row]
    if not all(isinstance(value, str) for value in values):
        raise Refused(400, f"the input {tensor.name!r} has a value that is not a string; give only strings")
    return query, values


def read_length(header: str, most: int) -> int:
    """The length of the JSON part of a request of `most` bytes."""
    length = int(header) if re.fullmatch("[0-9]{1,15}", header) else -1
    if not 0 <= length <= most:
        shown = header if len(header) <= 20 else f"{header[:20]}…"
        raise Refused(400, f"{HEADER_LENGTH} is {shown!r}; give the length of the JSON part, a number up to {most}")
    return length
