"""The interfaces of other servers, so that their clients work unchanged.

These are Hugging Face text-classification, text-embeddings-inference and MLflow's scoring server; open_inference.py has
the Open Inference Protocol V2.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import Any

from fastapi import APIRouter, Request, Response

from unnaive import __version__
from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service import bodies, foreign_answers
from unnaive.apps.service.answers import Answers, TopAnswers
from unnaive.apps.service.classify import read_given, reads_records
from unnaive.apps.service.label_studio import predict_tasks
from unnaive.apps.service.models import Models
from unnaive.apps.service.open_inference import add_open_inference
from unnaive.apps.service.openapi import described
from unnaive.apps.service.routes import model_summary
from unnaive.apps.service.served import ServedModel
from unnaive.io.tables.csv_records import longer_fields

LONGEST_CHARSET = 40  # characters
OTHER_CHARSET = "give its encoding: text/csv; charset=latin-1"
# Encodings of tables: all take time in proportion to the text, unlike punycode or idna.
CHARSETS = frozenset(
    codecs.lookup(name).name
    for name in (
        "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "ascii", "big5", "euc-jp", "euc-kr", "gbk",
        "gb18030", "koi8-r", "koi8-u", "mac-roman", "shift-jis", "tis-620",
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(f"cp{page}" for page in (437, 850, 866, 874, 932, *range(1250, 1259))),
    )
)  # fmt: skip


def make_compatible_router(models: Models) -> APIRouter:
    """The routes of the compatible interfaces."""
    router = APIRouter()
    _add_hugging_face(router, models)
    add_open_inference(router, models)
    _add_mlflow(router, models)
    return router


async def _answers(models: Models, model: ServedModel, texts: list[Any]) -> Answers:
    return (await models.score(model, models.limits.check_texts(read_given(model.version.fitted, texts)))).answers


def _scored(answers: Answers | TopAnswers, limit: int | None) -> list[list[dict[str, Any]]]:
    return [[{"label": str(label), "score": value} for label, value in row] for row in answers.ranked(limit)]


def _add_hugging_face(router: APIRouter, models: Models) -> None:
    async def classify(model: ServedModel, body: bytes) -> Response:
        query = bodies.parse(bodies.HuggingFaceRequest, body)
        records = reads_records(model.version.fitted)
        inputs = query.inputs.get("text") if isinstance(query.inputs, dict) and not records else query.inputs
        texts: list[Any] = inputs if isinstance(inputs, list) else [inputs]
        if not all(isinstance(text, (str, dict) if records else str) for text in texts):
            raise Refused(422, 'inputs must be a string, a list of strings, or {"text": "…"}')
        limit = query.parameters.top_k if query.parameters else None
        if limit is None:
            return json_response(_scored(await _answers(models, model, texts), None))
        texts = models.limits.check_texts(read_given(model.version.fitted, texts))
        return json_response(_scored((await models.find_top(model, texts, limit)).answers, limit))

    @router.post("/", **described(bodies.HuggingFaceRequest, foreign_answers.HuggingFaceAnswer))
    @declares(Effect.COMPUTE)
    async def hugging_face(request: Request) -> Response:
        """Hugging Face text-classification with the first model: a list of labels and scores for each text."""
        return await classify(models.find(None), await request.body())

    @router.post("/models/{name}", **described(bodies.HuggingFaceRequest, foreign_answers.HuggingFaceAnswer, 404))
    @declares(Effect.COMPUTE)
    async def hugging_face_model(name: str, request: Request) -> Response:
        """Hugging Face text-classification with a model by name."""
        return await classify(models.find(name), await request.body())

    @router.post("/predict", **described(bodies.PredictRequest, foreign_answers.PredictAnswer, 404))
    @declares(Effect.COMPUTE)
    async def predict(request: Request, model: str | None = None) -> Response:
        """text-embeddings-inference (`inputs`), and the ML backend of Label Studio (`tasks`)."""
        query = bodies.parse(bodies.PredictRequest, await request.body())
        served = models.find(model)
        if query.tasks is not None:
            return json_response(await predict_tasks(models, served, query.tasks, query.label_config))
        single = isinstance(query.inputs, (str, dict))
        texts = [query.inputs] if single else [_sequence(item) for item in query.inputs or ()]
        bodies.refuse_unknown(query)
        if query.inputs is None:
            raise Refused(422, "give inputs (a text or a list of texts), or tasks of Label Studio")
        answers = await _answers(models, served, texts)
        rows = _scored(Answers(answers.fitted, answers.scores, answers.scores) if query.raw_scores else answers, None)
        return json_response(rows[0] if single else rows)


def _sequence(item: str | dict[str, Any] | list[str]) -> str | dict[str, Any]:
    """One input of a batch: a text, a record, or a list of parts, which are joined."""
    return " ".join(item) if isinstance(item, list) else item


def _add_mlflow(router: APIRouter, models: Models) -> None:
    @router.post("/invocations", **described(bodies.InvocationsRequest, foreign_answers.PredictedLabels, 404))
    @declares(Effect.COMPUTE)
    async def invocations(request: Request, model: str | None = None) -> Response:
        """MLflow's scoring server: the label of each text or row, from JSON or from a table as text/csv."""
        body = await request.body()
        charset = charset_of_table(request.headers.get("content-type", ""))
        served = models.find(model)
        records = reads_records(served.version.fitted)
        if charset is not None:
            names, *rows = await models.work(table_rows, body, charset)
            column = None if records else _text_column(names)
            texts: list[Any] = [dict(zip(names, row, strict=True)) if column is None else row[column] for row in rows]
        else:
            query = bodies.parse(bodies.InvocationsRequest, body)
            texts = frame_records(query) if records else frame_texts(query)
        answers = await _answers(models, served, texts)
        labels = answers.labels()
        many = answers.fitted.multilabel
        return json_response({"predictions": labels if many else [row[0] if row else None for row in labels]})

    @router.get("/ping", **described(None, bodies.Status))
    @declares(Effect.HEALTH)
    async def ping() -> Response:
        """Whether the server is alive."""
        return json_response({"status": "ok"})

    @router.get("/version", **described(None, foreign_answers.ServerVersion))
    @declares(Effect.READ)
    async def version() -> Response:
        """The version of unnaive."""
        return json_response(__version__)

    @router.get("/info", **described(None, foreign_answers.EmbeddingsServerInfo))
    @declares(Effect.READ)
    async def info() -> Response:
        """The server information of text-embeddings-inference: the model and its labels."""
        model = models.find(None)
        labels = {str(number): str(label) for number, label in enumerate(model.version.fitted.classes)}
        return json_response({
            "model_id": model.name, "model_type": {"classifier": {"id2label": labels}}, "version": __version__,
            "max_client_batch_size": models.limits.batch, "models": [model_summary(model)["name"] for model in models],
        })  # fmt: skip


def frame_texts(query: bodies.InvocationsRequest) -> list[str]:
    """The texts of a request in any of MLflow's formats; from a table, the column `text`, or the only column."""
    if query.dataframe_split is not None:
        frame = query.dataframe_split
        columns = frame.columns or list(range(len(frame.data[0]) if frame.data else 1))
        position = _text_column([str(name) for name in columns])
        if any(len(row) <= position for row in frame.data):
            raise Refused(422, "a row of dataframe_split is shorter than its columns")
        return _strings([row[position] for row in frame.data])
    if query.dataframe_records is not None:
        records = query.dataframe_records
        names = list(records[0]) if records else ["text"]
        name = names[_text_column(names)]
        return _strings([record.get(name) for record in records])
    values = query.inputs if query.inputs is not None else query.instances
    if isinstance(values, dict):
        names = list(values)
        values = values[names[_text_column(names)]] if names else None
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list):
        raise Refused(422, "give inputs, instances, dataframe_split or dataframe_records with texts")
    flat = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in values]
    return _strings(
        [item[list(item)[_text_column(list(item))]] if isinstance(item, dict) and item else item for item in flat]
    )


def frame_records(query: bodies.InvocationsRequest) -> list[Any]:
    """The records of a request in any of MLflow's formats; strings stay as they are.

    >>> frame_records(bodies.InvocationsRequest(inputs={"subject": ["hi"], "age": [3]}))
    [{'subject': 'hi', 'age': 3}]
    """
    frame, values = query.dataframe_split, query.dataframe_records
    if frame is not None:
        names = [str(name) for name in frame.columns or ()]
        if any(len(row) != len(names) for row in frame.data):
            raise Refused(422, "a row of dataframe_split is not as long as its columns")
        return [dict(zip(names, row, strict=True)) for row in frame.data]
    inputs = values if values is not None else query.inputs if query.inputs is not None else query.instances
    if isinstance(inputs, dict):
        columns = [column if isinstance(column, list) else [column] for column in inputs.values()]
        if len(set(map(len, columns))) > 1:
            raise Refused(422, "the columns of inputs differ in length; give a value for each record")
        return [dict(zip(inputs, row, strict=True)) for row in zip(*columns, strict=True)]
    records = inputs if isinstance(inputs, list) else [inputs]
    if not all(isinstance(record, (str, dict)) for record in records):
        raise Refused(422, "give inputs, instances, dataframe_split or dataframe_records with records of fields")
    return records


def charset_of_table(kind: str) -> str | None:
    """The encoding of a CSV table by the content type of a request; None if it is something else.

    >>> charset_of_table("text/csv"), charset_of_table("text/csv; charset=Latin-1"), charset_of_table("text/plain")
    ('utf-8-sig', 'iso8859-1', None)
    """
    if kind.partition(";")[0].strip().lower() != "text/csv":
        return None
    named = re.search(r"charset=\"?([\w.:-]+)", kind, re.IGNORECASE)
    return "utf-8-sig" if named is None else read_charset(named[1])


def table_rows(body: bytes, charset: str) -> list[list[str]]:
    """The rows of a CSV table, the first of which names the columns.

    >>> table_rows(b'id,text\\n1,"a ball, a game"\\n', "utf-8-sig")
    [['id', 'text'], ['1', 'a ball, a game']]
    """
    try:
        words = body.decode(charset)
    except UnicodeError as problem:
        name = charset.removesuffix("-sig").upper()
        raise Refused(422, f"the table cannot be read as {name}; {OTHER_CHARSET}") from problem
    try:
        with longer_fields(len(words)):
            rows = [row for row in csv.reader(io.StringIO(words, newline=""), strict=True) if row]
    except csv.Error as problem:
        raise Refused(422, f"the table is not CSV ({problem}); send rows with commas between the cells") from problem
    if not rows:
        raise Refused(422, "the table is empty; its first row must name the columns")
    if any(len(row) != len(rows[0]) for row in rows):
        raise Refused(
            422, f"a row of the table does not have {len(rows[0])} cells like the first; give each row as many"
        )
    return rows


def read_charset(name: str) -> str:
    """Python's name of an encoding of text.

    >>> read_charset("Windows-1254"), read_charset("UTF8")
    ('cp1254', 'utf-8')
    """
    try:
        charset = codecs.lookup(name).name if len(name) <= LONGEST_CHARSET else ""
    except LookupError:
        charset = ""
    if charset not in CHARSETS:
        raise Refused(422, f"there is no encoding of tables called {name[:LONGEST_CHARSET]!r}; {OTHER_CHARSET}")
    return charset


def _text_column(names: list[str]) -> int:
    if "text" in names:
        return names.index("text")
    if len(names) == 1:
        return 0
    there = ", ".join(names) or "none"
    raise Refused(422, f"no column is called text; there are {there}; rename the column of texts to text")


def _strings(values: list[Any]) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise Refused(422, "a text is not a string; give only strings")
    return values
