"""Forgetting with a receipt: `verify` says yes to what happened, and no to other documents."""

from __future__ import annotations

import json
from pathlib import Path

from statemachine.data import Document, Model
from statemachine.invariants import holds_to_before
from unnaive import TextClassifier
from unnaive.base.open_files import hash_file
from unnaive.classifier.receipt_checks import check_forgotten, check_receipts, check_remaining
from unnaive.classifier.receipt_schema import find_problem
from unnaive.classifier.receipts import complete_receipt, make_receipt

STRANGER: Document = ("ball goal soup", ("east",))


def check_receipt(before: Model, after: Model, rows: list[Document], folder: Path) -> None:
    """The receipt of forgetting `rows`, which led from one model to the other, is verified by all that there is."""
    assert after.documents is not None
    path, gone, left = folder / "forgot.model", split(rows), sorted(after.documents.elements())
    TextClassifier.from_fitted(before.fitted).save(path)
    begun = make_receipt(before.fitted, *gone, file=path.name, sha256=hash_file(path), key=None)
    TextClassifier.from_fitted(after.fitted).save(path)
    receipt = json.loads(complete_receipt(begun, after.fitted, file=path.name, sha256=hash_file(path)))
    problem = find_problem(receipt)
    assert problem is None, f"the receipt: {problem}"
    checks = check_receipts(after.fitted, [receipt], hash_file(path))
    checks += [check_forgotten([receipt], *gone, None), *check_remaining(after.fitted, [receipt], *split(left), None)]
    found = {one.name: one.holds for one in checks}
    kept = {(text, frozenset(labels)) for text, labels in after.documents}  # labels of a document have no order
    none_left = not any((text, frozenset(labels)) in kept for text, labels in rows)
    for name in ("file", "model", "documents", "counts"):
        assert found[name], f"verify says no: {name}"
    assert found["data"] == none_left
    assert found["register"] == (none_left if after.fitted.register is not None else None)
    if not (after.changed or holds_to_before(after)):
        assert found["bytes"], "verify says that the file is another"
    lies = check_remaining(after.fitted, [receipt], *split([*left, STRANGER]), None)
    assert {one.name: one.holds for one in lies}["counts"] is False
    assert check_forgotten([receipt], *split([*rows, STRANGER]), None).holds is False


def split(rows: list[Document]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Texts, and the labels of each."""
    return [text for text, _ in rows], [labels for _, labels in rows]
