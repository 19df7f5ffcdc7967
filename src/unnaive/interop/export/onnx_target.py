"""Target onnx: one file, texts in, labels, scores and probabilities out, for onnxruntime as the package index has it.

onnx_tokens.py reads texts; here terms become scores, scores probabilities and labels. Sums are made in double
precision; scores and probabilities leave as single, as usual.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unnaive import __version__
from unnaive.base.errors import UnnaiveError
from unnaive.base.extras import import_extra
from unnaive.base.sparse import issparse
from unnaive.interop.export.conformance import TOLERANCE_OF_SINGLES, EngineAgreement, compare_answers
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.onnx_graph import BOOL, DOUBLE, FLOAT, INT64, STRING, Graph, onnx_bytes
from unnaive.interop.export.onnx_tokens import TextReader
from unnaive.interop.export.portable import PortableModel, PortablePart, exact_form
from unnaive.linear.links import LINKS

FILE = "model.onnx"
LARGEST = 1_900_000_000  # maximum bytes of a file: the format is limited to 2 GB
AT_ONCE = 16  # texts that the graph reads together
CHECKED_AT_ONCE = 50  # texts of the conformance file
ZERO, ONE, LOWEST = np.zeros(1), np.ones(1), np.array([-np.inf])


def write_onnx(model: PortableModel) -> dict[str, bytes]:
    """The files of the export by name."""
    n_weights = sum(part.n_rows * len(model.classes) for part in model.parts)
    if 8 * n_weights > LARGEST:
        raise CannotExport(
            f"the model has {n_weights / 1e6:,.0f} million weights, too many for an ONNX file; make it smaller first "
            "(`unnaive compress`)"
        )
    return {FILE: onnx_model(model)}


def onnx_model(model: PortableModel) -> bytes:
    """The content of the .onnx file."""
    graph = Graph()
    texts = graph.input("text", STRING, ["texts"])
    n_texts = graph("Gather", graph("Shape", texts), np.array(0))
    n_groups = graph("Div", graph("Add", n_texts, np.array(AT_ONCE - 1)), np.array(AT_ONCE))
    empty = [np.zeros((0, *width), kind) for _, kind, _, width in _outputs(model)]
    results = graph(
        "Loop", n_groups, np.array(True), *empty, outputs=len(empty), body=_group_nodes(graph, model, texts)
    )
    for result, (name, _, kind, width) in zip(results, _outputs(model), strict=True):
        graph.output(result, name, kind, ["texts", *width])
    names = {name for name, *_ in _outputs(model)}
    about = {"classes": json.dumps(model.classes, ensure_ascii=False), "model": model.name}
    about["prediction"] = json.dumps({key: PREDICTION[key] for key in PREDICTION if PREDICTION[key] in names})
    return onnx_bytes(graph, __version__, about)


# the output that has each key of docs/prediction.schema.json; of one number for each class, that of the label counts
PREDICTION = {
    "label": "label", "labels": "decided", "probability": "probabilities", "classes": "probabilities",
    "known_terms": "known_terms",
}  # fmt: skip


def _outputs(model: PortableModel) -> list[tuple[str, Any, int, list[int]]]:
    """Name, types in numpy and in ONNX, and length of a row of each output."""
    wide = [len(model.classes)]
    probabilities = [("probabilities", np.float32, FLOAT, wide)] if model.probabilistic else []
    return [
        ("label", object, STRING, []), ("decided", np.bool_, BOOL, wide), ("scores", np.float32, FLOAT, wide),
        *probabilities, ("known_terms", np.int64, INT64, []),
    ]  # fmt: skip


def _group_nodes(graph: Graph, model: PortableModel, texts: str) -> Graph:
    """The body of a loop over groups of texts: in a group, all texts are as long as the longest in it.

    Each round appends the rows of its texts to those of the rounds before, so an empty batch has empty results.
    """
    body = graph.subgraph()
    at = body.prefix
    number = body.input(f"{at}number", INT64, [])
    goes_on = body.input(f"{at}goes_on", BOOL, [])
    before = [body.input(f"{at}{name}", kind, None) for name, _, kind, _ in _outputs(model)]
    start = body("Unsqueeze", body("Mul", number, np.array(AT_ONCE)), [0])
    group = body("Slice", texts, start, body("Add", start, [AT_ONCE]), [0])
    nodes = prediction_nodes(body, model, *TextReader(body, model, group).count())
    names = np.array([*map(str, model.classes), ""], object)
    label = body("Gather", names, body("Where", body("Less", nodes.first, [0]), [len(model.classes)], nodes.first))
    probabilities = [] if nodes.probabilities is None else [body.cast(nodes.probabilities, FLOAT)]
    rows = [label, nodes.decided, body.cast(nodes.scores, FLOAT), *probabilities, nodes.known]
    body.output(goes_on, f"{at}more", BOOL, [])
    for earlier, row, (name, _, kind, _) in zip(before, rows, _outputs(model), strict=True):
        body.output(body("Concat", earlier, row, axis=0), f"{at}{name}_rows", kind, None)
    return body


@dataclass(frozen=True)
class PredictionNodes:
    """Names of values in a graph.

    scores, probabilities, decided  (n_texts, n_classes); `decided` says whether a class is predicted
    first, known                    (n_texts,); index of the first label, −1 if there is none; number of known terms
    """

    scores: str
    probabilities: str | None
    decided: str
    first: str
    known: str


def prediction_nodes(graph: Graph, model: PortableModel, counts: str, columns: Any) -> PredictionNodes:
    """Add the nodes from counts (n_texts, n_columns) of the terms `columns` to predictions."""
    writer = ScoreWriter(graph, model, counts, columns)
    scores = writer.scores()
    probabilities = probability_nodes(graph, model, scores) if model.probabilistic else None
    decided = decision_nodes(graph, model, scores, probabilities)
    finite = graph("Max", scores, np.array([-np.finfo(np.float64).max]))  # a class without documents may be decided
    best = graph("ArgMax", graph("Where", decided, finite, LOWEST), axis=1, keepdims=0)
    some = graph.cast(graph("ReduceMax", graph.cast(decided, INT64), [1], keepdims=0), BOOL)
    return PredictionNodes(scores, probabilities, decided, graph("Where", some, best, [-1]), writer.known())


class ScoreWriter:
    """Adds the nodes that turn counts (n_texts, n_columns) into scores (n_texts, n_classes).

    Only nonzero cells (text, term, count) of the counts are used, ordered by text.
    """

    def __init__(self, graph: Graph, model: PortableModel, counts: str, columns: Any) -> None:
        self.graph, self.model, self.columns = graph, model, columns
        places = graph("NonZero", counts)
        self.texts: str = graph("Gather", places, np.array(0))
        self.terms: str = graph("Gather", places, np.array(1))
        cells = graph("GatherND", counts, graph("Transpose", places))
        self.counts = graph.cast(cells, DOUBLE)
        self.n_texts: str = graph("Slice", graph("Shape", counts), [0], [1])

    def _sum(self, texts: str, values: str, n_values: int = 0) -> str:
        """Sums of values (n_cells,) or (n_cells, n_values) over each text."""
        shape = self.graph("Concat", self.n_texts, [n_values], axis=0) if n_values else self.n_texts
        zeros = self.graph("Expand", np.zeros((1,) * (2 if n_values else 1)), shape)
        places = self.graph("Unsqueeze", texts, [1])
        return str(self.graph("ScatterND", zeros, places, values, reduction="add"))

    def known(self) -> str:
        """The number of known terms of each text; if the model has words, character n-grams are not counted."""
        counted = np.ones(len(self.columns)) if self.model.gram is None else 1.0 - self.model.gram[self.columns]
        values = self.graph("Mul", self.counts, self.graph("Gather", counted, self.terms)) if counted.size else ""
        return self.graph.cast(self._sum(self.texts, values or self.counts), INT64)

    def scores(self) -> str:
        """The sum of all parts."""
        graph, n_classes = self.graph, len(self.model.classes)
        shape = graph("Concat", self.n_texts, [n_classes], axis=0)
        total = graph("Expand", self.model.bias.reshape(1, -1), shape)
        for part in self.model.parts:
            total = graph("Add", total, self._part(part))
        return str(total)

    def _part(self, part: PortablePart) -> str:
        graph = self.graph
        bias = part.bias.reshape(1, -1).astype(np.float64)
        if not part.n_rows or not self.columns.size:
            return graph.constant(bias)
        texts, rows, counts = self._cells(part)
        z = {"raw": counts, "binary": graph("Min", counts, ONE)}.get(part.tf) or graph("Add", graph("Log", counts), ONE)
        if part.idf is not None:
            z = graph("Mul", z, graph("Gather", part.idf.astype(np.float64), rows))
        table = part.weights.toarray() if issparse(part.weights) else part.weights
        form, numbers = exact_form(table, part.step, None)
        weights = graph.cast(graph("Gather", numbers, rows), DOUBLE)
        if part.step is not None and form in ("i8", "i16"):
            weights = graph("Mul", weights, part.step.reshape(1, -1).astype(np.float64))
        if part.class_offset is not None:
            weights = graph("Add", weights, part.class_offset.reshape(1, -1).astype(np.float64))
        if part.term_offset is not None:
            offset = graph("Gather", part.term_offset.astype(np.float64), rows)
            weights = graph("Add", weights, graph("Unsqueeze", offset, [1]))
        sums = self._sum(texts, graph("Mul", weights, graph("Unsqueeze", z, [1])), len(self.model.classes))
        if part.norm is not None:
            length = self._sum(texts, graph("Mul", z, z) if part.norm == "l2" else graph("Abs", z))
            length = graph("Sqrt", length) if part.norm == "l2" else length
            length = graph("Where", graph("Greater", length, ZERO), length, ONE)
            sums = graph("Div", sums, graph("Unsqueeze", length, [1]))
        return str(graph("Add", sums, bias))

    def _cells(self, part: PortablePart) -> tuple[str, str, str]:
        """Text, row of the part's tables, and count of each cell that the part reads."""
        graph, row_of = self.graph, self.columns
        if part.columns is not None:
            row_of = np.full(1 + max(self.columns.max(), part.columns.max()), -1, np.int64)
            row_of[part.columns] = np.arange(part.n_rows)
            row_of = row_of[self.columns]
        rows = graph("Gather", row_of, self.terms)
        if bool((row_of >= 0).all()):
            return self.texts, str(rows), self.counts
        read = graph("GreaterOrEqual", rows, [0])
        texts, rows, counts = (graph("Compress", cells, read, axis=0) for cells in (self.texts, rows, self.counts))
        return texts, rows, counts


# Scores → probabilities: linear/links.py and learning/calibration.py.


def probability_nodes(graph: Graph, model: PortableModel, scores: str) -> str:
    """The probabilities (n_texts, n_classes)."""
    how, exclusive = model.calibration, LINKS[model.link].exclusive
    if how is not None and how["kind"] in ("platt", "isotonic"):
        odds = _class_log_odds(graph, model, scores)
        p = _platt(graph, how, odds) if how["kind"] == "platt" else _isotonic(graph, how, odds)
        return _normalised(graph, p, len(model.classes)) if how["exclusive"] else p
    if how is None and model.link == "noisy-or" and model.multilabel:
        return str(graph("Sub", ONE, graph("Exp", graph("Neg", scores))))
    odds = _logits(graph, model, scores)
    if how is not None:
        odds = graph("Div", odds, np.array([float(how["value"])]))
        if not how["exclusive"]:
            return _sigmoid(graph, graph("Add", odds, np.array([float(how["offset"])])))
    if how is not None or not model.multilabel or exclusive:
        return str(graph("Exp", _log_softmax(graph, odds, len(model.classes))))
    return _sigmoid(graph, odds)


def _sigmoid(graph: Graph, x: str) -> str:
    return str(graph("Div", ONE, graph("Add", ONE, graph("Exp", graph("Neg", x)))))


def _log_sigmoid(graph: Graph, x: str) -> str:
    small = graph("Log", graph("Add", ONE, graph("Exp", graph("Neg", graph("Abs", x)))))
    return str(graph("Sub", graph("Min", x, ZERO), small))


def _logits(graph: Graph, model: PortableModel, scores: str) -> str:
    """The log-odds of scores by the link of the model."""
    if model.link == "one-of-all":
        return _log_sigmoid(graph, scores)
    if model.link == "noisy-or":
        odds = graph("Log", graph("Sub", graph("Exp", graph("Min", scores, np.array([30.0]))), ONE))
        return str(graph("Where", graph("Greater", scores, np.array([30.0])), scores, odds))
    return scores


def _log_softmax(graph: Graph, odds: str, n_classes: int) -> str:
    """log p of exclusive classes; equal for all if no class has any evidence."""
    top = graph("ReduceMax", odds, [1], keepdims=1)
    possible = graph("Greater", top, LOWEST)
    lead = graph("Sub", odds, graph("Where", possible, top, ZERO))
    total = graph("Log", graph("ReduceSum", graph("Exp", lead), [1], keepdims=1))
    return str(graph("Where", possible, graph("Sub", lead, total), np.array([[-np.log(n_classes)]])))


def _class_log_odds(graph: Graph, model: PortableModel, scores: str) -> str:
    """Log-odds of each class against the rest."""
    odds = _logits(graph, model, scores)
    if not LINKS[model.link].exclusive:
        return odds
    n_classes = len(model.classes)
    if n_classes < 2:
        return scores
    log_p = _log_softmax(graph, odds, n_classes)
    best = graph("ArgMax", odds, axis=1, keepdims=1)
    is_best = graph("Equal", best, np.arange(n_classes).reshape(1, -1))
    others = graph("Where", is_best, LOWEST, log_p)
    top = graph("ReduceMax", others, [1], keepdims=1)
    shift = graph("Where", graph("Greater", top, LOWEST), top, ZERO)
    rest = graph("Add", shift, graph("Log", graph(
        "ReduceSum", graph("Exp", graph("Sub", others, shift)), [1], keepdims=1)))  # fmt: skip
    against = graph("Log", graph("Sub", ONE, graph("Exp", others)))
    return str(graph("Sub", log_p, graph("Where", is_best, rest, against)))


def _platt(graph: Graph, how: dict[str, Any], odds: str) -> str:
    slopes, offsets = (np.array(how[name], np.float64).reshape(1, -1) for name in ("slopes", "offsets"))
    return _sigmoid(graph, graph("Add", graph("Mul", odds, slopes), offsets))


def _isotonic(graph: Graph, how: dict[str, Any], odds: str) -> str:
    """Piecewise linear interpolation: p at the first knot, plus the rise of each segment up to the log-odds."""
    curves = [(np.array(knots, float), np.array(values, float)) for knots, values in how["curves"]]
    longest = max(max(len(knots) for knots, _ in curves) - 1, 1)
    start, width, rise = (np.zeros((1, len(curves), longest)) for _ in range(3))
    for curve, (knots, values) in enumerate(curves):
        start[0, curve, : len(knots) - 1] = knots[:-1]
        width[0, curve, : len(knots) - 1] = np.diff(knots)
        rise[0, curve, : len(knots) - 1] = np.diff(values)
    lowest = np.array([[values[0] for _, values in curves]])
    beyond = graph("Sub", graph("Unsqueeze", odds, [2]), start)
    share = graph("Min", graph("Max", graph("Div", beyond, np.where(width > 0, width, 1.0)), ZERO), ONE)
    step = graph.cast(graph("GreaterOrEqual", beyond, ZERO), DOUBLE)
    gained = graph("Mul", graph("Where", width > 0, share, step), rise)
    return str(graph("Add", lowest, graph("ReduceSum", gained, [2], keepdims=0)))


def _normalised(graph: Graph, p: str, n_classes: int) -> str:
    total = graph("ReduceSum", p, [1], keepdims=1)
    positive = graph("Greater", total, ZERO)
    shares = graph("Div", p, graph("Where", positive, total, ONE))
    return str(graph("Where", positive, shares, np.array([[1.0 / n_classes]])))


# Scores → labels: learning/decisions.py.


def decision_nodes(graph: Graph, model: PortableModel, scores: str, probabilities: str | None) -> str:
    """Which classes are decided (n_texts, n_classes)."""
    how = model.decision
    kind, places = how["kind"], np.arange(len(model.classes)).reshape(1, -1)
    if kind == "thresholds":
        return _thresholds(graph, how, scores, probabilities, places)
    if kind == "top-k":
        k = min(int(how["k"]), places.size)
        _, chosen = graph("TopK", scores, [k], axis=1, outputs=2)
        same = graph("Equal", graph("Unsqueeze", chosen, [2]), places.reshape(1, 1, -1))
        return graph.cast(graph("ReduceMax", graph.cast(same, INT64), [1], keepdims=0), BOOL)
    values = scores
    if kind == "weighted-argmax":
        values = graph("Mul", probabilities, np.array([how["weights"]], np.float64))
    elif kind == "least-cost":
        values = graph("Neg", graph("MatMul", probabilities, np.array(how["costs"], np.float64)))
    return str(graph("Equal", graph("ArgMax", values, axis=1, keepdims=1), places))


def _thresholds(graph: Graph, how: dict[str, Any], scores: str, probabilities: str | None, places: Any) -> str:
    values = scores
    if how["on"] == "probabilities":
        values = str(probabilities)
    elif how["on"] == "relative":
        top = graph("ReduceMax", scores, [1], keepdims=1)
        values = graph("Div", scores, graph("Where", graph("Greater", top, ZERO), top, ONE))
    above = graph("Sub", values, np.array([how["values"]], np.float64))
    decided = graph("GreaterOrEqual", above, ZERO)
    if not how["at_least_one"]:
        return str(decided)
    best = graph("Equal", graph("ArgMax", above, axis=1, keepdims=1), places)
    none = graph("Not", graph.cast(graph("ReduceMax", graph.cast(decided, INT64), [1], keepdims=1), BOOL))
    return graph.any_of(decided, graph.all_of(best, none))


def check_onnx(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """Run the model in onnxruntime on the conformance file, in batches."""
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    session = open_session((folder / FILE).read_bytes())
    texts = [json.loads(line)["text"] for line in lines]
    answers = [answer for at in range(0, len(texts), CHECKED_AT_ONCE)
               for answer in run_texts(session, texts[at : at + CHECKED_AT_ONCE], about["classes"])]  # fmt: skip
    engine = f"onnxruntime {import_module('onnxruntime').__version__}"
    return [compare_answers(engine, TOLERANCE_OF_SINGLES, lines, answers)]


def open_session(data: bytes) -> Any:
    """The model of an .onnx file in onnxruntime, with one thread: texts are short."""
    runtime = import_extra("onnxruntime", "checking this export")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # its errors have no common type
        raise UnnaiveError(f"onnxruntime cannot load the file: {problem}") from problem


def run_texts(session: Any, texts: list[str], classes: list[Any]) -> list[dict[str, Any]]:
    """The predictions of the model in a session; lone surrogates, which UTF-8 cannot encode, become U+FFFD."""
    clean = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, {"text": np.array(clean, dtype=object)}), strict=True))
    answers = []
    for row in range(len(texts)):
        answers.append({
            "label": str(outputs["label"][row]),
            "labels": [classes[index] for index in np.flatnonzero(outputs["decided"][row])],
            "known_terms": int(outputs["known_terms"][row]),
            **{name: [float(value) if np.isfinite(value) else None for value in outputs[name][row]]
               for name in ("scores", "probabilities") if name in outputs},
        })  # fmt: skip
    return answers
