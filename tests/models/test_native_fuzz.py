"""Drawn models of the fastText kind, mutated CSV and JSON, and hostile matrices: an error or an answer, never a crash.

`make sanitize` runs this with modules that end at the first read or write out of bounds.
"""

import random
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.fasttext_files import TEXTS, WORDS, FastTextParts, write_fasttext

from unnaive.base.errors import UnnaiveError
from unnaive.models.fasttext.importing import import_fasttext
from unnaive.models.svm.solver import softmax, squared_hinge
from unnaive.text.backend import kernel

pytestmark = pytest.mark.skipif(kernel is None, reason="built without a compiler")
LINES = [text for text in TEXTS if "\n" not in text]
EXTREMES = [0.0, -0.0, 1e-300, 1.0, -1.0, 1e15, -1e15, 1e300, -1e300, np.inf, -np.inf, np.nan]


def drawn_parts(draw):
    """Parts of a model of any kind, some with weights as large as any that are read."""
    bucket, maxn = draw.choice([0, 1, 7, 50]), draw.choice([0, 0, 1, 6])
    dim, n_labels = draw.choice([1, 2, 3, 8, 17]), draw.choice([2, 3, 9, 40])
    return FastTextParts(
        loss=draw.choice(["hs", "ns", "softmax", "ova"]), words=tuple(draw.sample(WORDS, draw.randrange(1, 12))),
        labels=tuple(f"__label__c{number}" for number in range(n_labels)), dim=dim, bucket=bucket,
        maxn=maxn if bucket else 0, minn=draw.randrange(maxn + 1), word_ngrams=draw.choice([1, 2, 4]) if bucket else 1,
        quantised=draw.random() < 0.3, qnorm=draw.random() < 0.5, scale=draw.choice([1e-30, 1.0, 1e10, 1e15, 1e30]),
        seed=draw.randrange(10**6),
    )  # fmt: skip


def test_drawn_models_of_fasttext_predict_or_are_refused(tmp_path):
    draw, answered = random.Random(0), 0
    for _ in range(150):
        path = tmp_path / "a.bin"
        path.write_bytes(write_fasttext(drawn_parts(draw)))
        for fold in (True, False):
            try:
                fitted = import_fasttext(path, fold=fold)
            except UnnaiveError:
                continue
            reader, answered = fitted.reader, answered + 1
            best = reader.best_classes(LINES)
            assert ((best >= 0) & (best < len(fitted.classes))).all()
            assert not np.isnan(reader.scores_and_known(LINES)[0]).any()
            for k in (1, 2, -1):
                reader.top_labels(LINES, k, draw.choice([0.0, 0.5, 1.0, -1.0]))
    assert answered > 100


def mutated(content, draw):
    """The bytes with some of them changed, removed, repeated or inserted."""
    out = bytearray(content)
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(out) + 1)
        out[at : at + draw.choice([0, 1, 5])] = draw.choice(
            [b"", b'"', b"\\", b"\\u", b"\\ud800", b"\0", b"\xff", b"\xc3", b"\r", b"\n", b",", b"{", b"[[", b"1e999",
             bytes(out[at : at + 9]) * 2]
        )  # fmt: skip
    return np.frombuffer(bytes(out), np.uint8)


def test_mutated_rows_are_read_or_left_to_python():
    from unnaive.base import _rows

    draw, read = random.Random(1), 0
    json_lines = b'{"text": "caf\\u00e9 \xc3\xa9", "label": ["a", 1.5e3], "n": {"k": null}}\n' * 4
    csv = b'text,label\n"a ""b"", c",x\r\n caf\xc3\xa9,"y\nz"\n' * 4
    for _ in range(3_000):
        for found in (
            _rows.json_rows(mutated(json_lines, draw), ["text", "label"], 1, ["never"], 1 << 20, draw.random() < 0.5),
            _rows.json_lines(mutated(json_lines, draw), ["text"], 1 << 20),
            _rows.csv_rows(mutated(csv, draw), ord(","), [0, 1], draw.choice([0, 1, 9]), 1 << 20),
        ):
            read += found is not None
        _rows.csv_rows_end(mutated(csv, draw))
    assert read > 300


@pytest.mark.parametrize(
    "solve",
    [
        lambda X, targets, C: softmax(X, targets, 3, C=C, max_iter=20),
        lambda X, targets, C: squared_hinge(X, csr_array(np.eye(3)[targets]), C=C, max_iter=20),
    ],
)
def test_solvers_end_on_hostile_matrices(solve):
    draw = np.random.default_rng(2)
    for _ in range(40):
        n, m = draw.integers(1, 12), draw.integers(1, 9)
        X = csr_array(draw.choice(EXTREMES, (n, m)) * (draw.random((n, m)) < 0.5))
        targets = draw.integers(0, 3, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                solve(X, targets, float(draw.choice([1e-12, 1.0, 1e12])))
            except (UnnaiveError, ValueError):
                continue
