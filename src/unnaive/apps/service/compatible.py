"""The interfaces of other servers, so that their clients work unchanged.

Hugging Face text-classification, text-embeddings-inference, the Open Inference Protocol V2 and MLflow's scoring server.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request, Response

from unnaive import __version__
from unnaive.apps.service import bodies
from unnaive.apps.service.answers import Answers
from unnaive.apps.service.effects import Effect, declares
from unnaive.apps.service.label_studio import predict_tasks
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import described
from unnaive.apps.service.refused import Refused
from unnaive.apps.service.routes import json_response, model_summary
from unnaive.apps.service.served import ServedModel

ANSWER = bodies.Foreign
INPUT = "text"  # the tensor of the Open Inference Protocol
HEADER_LENGTH = "inference-header-content-length"  # of JSON, where tensors follow it in binary


def make_compatible_router(models: Models) -> APIRouter:
    """The routes over some models."""
    router = APIRouter()
    _add_hugging_face(router, models)
    _add_open_inference(router, models)
    _add_mlflow(router, models)
    return router


async def _answers(models: Models, model: ServedModel, texts: list[str]) -> Answers:
    return (await models.score(model, models.check_texts(texts))).answers


def _scored(answers: Answers, limit: int | None) -> list[list[dict[str, Any]]]:
    return [[{"label": str(label), "score": value} for label, value in row] for row in answers.ranked(limit)]


def _add_hugging_face(router: APIRouter, models: Models) -> None:
    async def classify(model: ServedModel, body: bytes) -> Response:
        asked = bodies.parse(bodies.HuggingFaceRequest, body)
        inputs = asked.inputs.get("text") if isinstance(asked.inputs, dict) else asked.inputs
        texts = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(texts, list):
            raise Refused(422, 'inputs must be a string, a list of strings, or {"text": "…"}')
        limit = asked.parameters.top_k if asked.parameters else None
        return json_response(_scored(await _answers(models, model, texts), limit))

    @router.post("/", **described(bodies.HuggingFaceRequest, ANSWER))
    @declares(Effect.COMPUTE)
    async def hugging_face(request: Request) -> Response:
        """Hugging Face text-classification with the first model: a list of labels and scores for each text."""
        return await classify(models.find(None), await request.body())

    @router.post("/models/{name}", **described(bodies.HuggingFaceRequest, ANSWER, 404))
    @declares(Effect.COMPUTE)
    async def hugging_face_model(name: str, request: Request) -> Response:
        """The same with a model by name."""
        return await classify(models.find(name), await request.body())

    @router.post("/predict", **described(bodies.PredictRequest, ANSWER, 404))
    @declares(Effect.COMPUTE)
    async def predict(request: Request, model: str | None = None) -> Response:
        """text-embeddings-inference (`inputs`), and the ML backend of Label Studio (`tasks`)."""
        asked = bodies.parse(bodies.PredictRequest, await request.body())
        found = models.find(model)
        if asked.tasks is not None:
            return json_response(await predict_tasks(models, found, asked.tasks, asked.label_config))
        single = isinstance(asked.inputs, str)
        texts = [asked.inputs] if single else [_sequence(one) for one in asked.inputs or ()]
        if asked.inputs is None:
            raise Refused(422, "give inputs, a text or a list of texts, or the tasks of Label Studio")
        answers = await _answers(models, found, texts)  # type: ignore[arg-type]
        rows = _scored(Answers(answers.fitted, answers.scores, answers.scores) if asked.raw_scores else answers, None)
        return json_response(rows[0] if single else rows)


def _sequence(one: str | list[str]) -> str:
    """One input of a batch: a text, or its parts in a list, which are joined."""
    return one if isinstance(one, str) else " ".join(one)


def _add_open_inference(router: APIRouter, models: Models) -> None:
    @router.get("/v2", **described(None, ANSWER))
    @declares(Effect.READ)
    async def server() -> Response:
        """The server's name and version."""
        return json_response({"name": "unnaive", "version": __version__, "extensions": ["binary_tensor_data"]})

    @router.get("/v2/health/live", **described(None, ANSWER))
    @declares(Effect.READ)
    async def live() -> Response:
        """Whether the server lives."""
        return json_response({"live": True})

    @router.get("/v2/health/ready", **described(None, ANSWER))
    @declares(Effect.READ)
    async def ready() -> Response:
        """Whether all models are ready."""
        return json_response({"ready": True})

    @router.get("/v2/models/{name}", **described(None, ANSWER, 404))
    @declares(Effect.READ)
    async def metadata(name: str) -> Response:
        """The tensors that a model takes and gives."""
        model = models.find(name)
        classes = len(model.version.fitted.classes)
        return json_response({
            "name": name, "versions": [str(model.version.number)], "platform": "unnaive",
            "inputs": [{"name": INPUT, "datatype": "BYTES", "shape": [-1]}],
            "outputs": [
                {"name": "label", "datatype": "BYTES", "shape": [-1]},
                {"name": "probabilities", "datatype": "FP64", "shape": [-1, classes]},
                {"name": "classes", "datatype": "BYTES", "shape": [classes]},
            ],
        })  # fmt: skip

    @router.get("/v2/models/{name}/ready", **described(None, ANSWER, 404))
    @declares(Effect.READ)
    async def model_ready(name: str) -> Response:
        """Whether a model is ready."""
        return json_response({"name": models.find(name).name, "ready": True})

    @router.post("/v2/models/{name}/infer", **described(bodies.InferRequest, ANSWER, 404))
    @declares(Effect.COMPUTE)
    async def infer(name: str, request: Request) -> Response:
        """The label of each text of the input tensor, and the probabilities of all classes."""
        model = models.find(name)
        asked, texts = read_tensors(await request.body(), request.headers.get(HEADER_LENGTH))
        scored = await models.score(model, models.check_texts(texts))
        version, answers = scored.version, scored.answers
        outputs = [
            {"name": "label", "datatype": "BYTES", "shape": [len(texts)],
             "data": [";".join(map(str, labels)) for labels in answers.labels()]},
            {"name": "probabilities", "datatype": "FP64", "shape": list(answers.values.shape),
             "data": answers.values.ravel().tolist()},
            {"name": "classes", "datatype": "BYTES", "shape": [len(version.fitted.classes)],
             "data": list(map(str, version.fitted.classes))},
        ]  # fmt: skip
        wanted = None if asked.outputs is None else {one.name for one in asked.outputs}
        unknown = sorted((wanted or set()) - {str(one["name"]) for one in outputs})
        if unknown:
            raise Refused(422, f"there is no output called {unknown[0]!r}; there are classes, label, probabilities")
        return json_response({
            "model_name": name, "model_version": str(version.number), **({"id": asked.id} if asked.id else {}),
            "outputs": [one for one in outputs if wanted is None or one["name"] in wanted],
        })  # fmt: skip


def read_tensors(body: bytes, header_length: str | None) -> tuple[bodies.InferRequest, list[str]]:
    """The request and its texts, which come as JSON or, behind the JSON, each with its length in four bytes."""
    length = len(body) if header_length is None else read_length(header_length, len(body))
    asked = bodies.parse(bodies.InferRequest, body[:length])
    tensor = next((one for one in asked.inputs if one.name == INPUT), asked.inputs[0])
    if tensor.datatype != "BYTES":
        raise Refused(422, f"the input {tensor.name!r} has datatype {tensor.datatype}; texts are BYTES")
    if tensor.data is None:
        return asked, _binary_texts(body[length:])
    values = tensor.data if isinstance(tensor.data, list) else [tensor.data]
    while any(isinstance(one, list) for one in values):
        if not all(isinstance(one, list) for one in values):
            raise Refused(
                400, f"the input {tensor.name!r} has lists beside other values; give strings, or rows of strings"
            )
        values = [one for row in values for one in row]
    if not all(isinstance(one, str) for one in values):
        raise Refused(400, f"the input {tensor.name!r} must hold strings")
    return asked, values


def read_length(given: str, most: int) -> int:
    """The bytes of a request that are JSON, of `most` there are."""
    length = int(given) if re.fullmatch("[0-9]{1,15}", given) else -1
    if not 0 <= length <= most:
        shown = given if len(given) <= 20 else f"{given[:20]}…"
        raise Refused(
            400, f"{HEADER_LENGTH} is {shown!r}; give the bytes of JSON in the request, a number up to {most}"
        )
    return length


def _binary_texts(data: bytes) -> list[str]:
    texts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if at + 4 + size > len(data):
            raise Refused(422, "the binary tensor ends in the middle of a text")
        texts.append(data[at + 4 : at + 4 + size].decode("utf-8", "replace"))
        at += 4 + size
    return texts


def _add_mlflow(router: APIRouter, models: Models) -> None:
    @router.post("/invocations", **described(bodies.InvocationsRequest, ANSWER, 404))
    @declares(Effect.COMPUTE)
    async def invocations(request: Request, model: str | None = None) -> Response:
        """MLflow's scoring server: the label of each text or row."""
        asked = bodies.parse(bodies.InvocationsRequest, await request.body())
        answers = await _answers(models, models.find(model), frame_texts(asked))
        labels = answers.labels()
        many = answers.fitted.multilabel
        return json_response({"predictions": labels if many else [one[0] if one else None for one in labels]})

    @router.get("/ping", **described(None, ANSWER))
    @declares(Effect.READ)
    async def ping() -> Response:
        """Whether the server lives."""
        return json_response({"status": "ok"})

    @router.get("/version", **described(None, ANSWER))
    @declares(Effect.READ)
    async def version() -> Response:
        """The version of unnaive."""
        return json_response(__version__)

    @router.get("/info", **described(None, ANSWER))
    @declares(Effect.READ)
    async def info() -> Response:
        """What text-embeddings-inference says of itself: the model and its labels."""
        model = models.find(None)
        labels = {str(number): str(label) for number, label in enumerate(model.version.fitted.classes)}
        return json_response({
            "model_id": model.name, "model_type": {"classifier": {"id2label": labels}}, "version": __version__,
            "max_client_batch_size": models.limits.batch, "models": [model_summary(one)["name"] for one in models],
        })  # fmt: skip


def frame_texts(asked: bodies.InvocationsRequest) -> list[str]:
    """The texts of a request in any of MLflow's forms; of a table the column `text`, or its only column."""
    if asked.dataframe_split is not None:
        frame = asked.dataframe_split
        columns = frame.columns or list(range(len(frame.data[0]) if frame.data else 1))
        place = _text_column([str(one) for one in columns])
        if any(len(row) <= place for row in frame.data):
            raise Refused(422, "a row of dataframe_split is shorter than its columns")
        return _strings([row[place] for row in frame.data])
    if asked.dataframe_records is not None:
        records = asked.dataframe_records
        names = list(records[0]) if records else ["text"]
        name = names[_text_column(names)]
        return _strings([one.get(name) for one in records])
    given = asked.inputs if asked.inputs is not None else asked.instances
    if isinstance(given, dict):
        names = list(given)
        given = given[names[_text_column(names)]] if names else None
    values = [given] if isinstance(given, str) else given
    if not isinstance(values, list):
        raise Refused(422, "give inputs, instances, dataframe_split or dataframe_records with texts")
    flat = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in values]
    return _strings([one[list(one)[_text_column(list(one))]] if isinstance(one, dict) and one else one for one in flat])


def _text_column(names: list[str]) -> int:
    if "text" in names:
        return names.index("text")
    if len(names) == 1:
        return 0
    raise Refused(422, f"which column has the texts? Call it text; there are {', '.join(names) or 'none'}")


def _strings(values: list[Any]) -> list[str]:
    if not all(isinstance(one, str) for one in values):
        raise Refused(422, "every text must be a string")
    return values
