"""Find problems in labelled data: label errors, duplicates, leaks, drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.curation.audit.audit import Audit
    from unnaive.curation.audit.audit_input import AuditData
    from unnaive.curation.audit.unfinished import Unfinished
    from unnaive.data.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.text.tokens import TokenRule

SPLIT_NAMES = ("split", "part", "subset", "partition", "set")
TRAIN_WORDS, TEST_WORDS = ("train", "training"), ("test", "testing")


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(Result):
    """The problems that were found, and remarks about what was read."""

    audit: Audit
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive audit --json` prints them."""
        from unnaive.curation.audit.findings import count_kinds

        audit = self.audit
        return {
            "name": audit.name,
            "documents": audit.n_docs,
            "classes": audit.n_classes,
            "terms": audit.n_terms,
            "fast": audit.fast,
            "kinds": count_kinds(audit.findings),
            "label_errors": None if audit.errors is None else asdict(audit.errors) | {"suspects": audit.suspects},
            "drift": None if audit.drift is None else asdict(audit.drift),
            "notes": list(audit.notes),
            "findings": [asdict(finding) | {"what_to_do": finding.advice} for finding in audit.findings],
        }


def audit_file(
    data: Data,
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    new_data: str | Path | None = None,
    test: str | Path | None = None,
    fast: bool = False,
    similarity: float = 0.8,
    most: int = 1000,
    seed: int = 0,
    rule: TokenRule | None = None,
    archives: Path | None = None,
    kept: Unfinished | None = None,
    progress: ProgressCallback | None = None,
) -> AuditResult:
    """Find problems in labelled data in files, or in a collection such as "tickets".

    Parameters
    ----------
    data : path, list of paths or DataFile
        Labelled documents.
    text, label : str, default=()
        Columns; by default they are guessed.
    new_data : path or None, default=None
        New texts, to find how they differ from the data (drift).
    test : path or None, default=None
        Test data, to find its documents that are also in the data (leaks).
    fast : bool, default=False
        Whether to find label errors by leave-one-out naive Bayes, which is faster and less precise.
    similarity : float from 0.5 to 1, default=0.8
        Minimum share of terms that near duplicates have in common.
    most : int from 1, default=1000
        Maximum number of suspected label errors.
    seed : int, default=0
        Random seed of the folds.
    rule : TokenRule or None, default=None
        How texts are read.
    archives : path or None, default=None
        Folder with the archives of the collections.
    kept : Unfinished or None, default=None
        Where to keep finished folds, so that an interrupted audit continues.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> result = audit_file("tickets", fast=True)
    >>> result.audit.n_docs
    926
    """
    from unnaive.curation.audit.audit import AuditOptions, audit
    from unnaive.text.messages import PARTS
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.source_fields import settle_fields

    feedback = Feedback(progress)
    source, fields = settle_fields(open_data(data, text=text, label=label), feedback)
    rule = replace(rule or TokenRule(), fields=fields).without_vectors()
    # for mail, the parts that people read: headers are not duplicates, and attachments have no words
    source = replace(
        source,
        options=replace(source.options, language=rule.language or "en"),
        message=PARTS if rule.message is None else None,
    )
    feedback.step("reading")
    documents = _read_data(source, archives, feedback)
    if fast and documents.multilabel:
        raise UnnaiveError(
            "--fast finds label errors of documents with one label each, and these have several; leave it out"
        )
    new = None if new_data is None else _read_texts(source, Path(new_data))
    tested = None if test is None else _read_texts(source, Path(test))
    options = AuditOptions(fast, similarity, most, seed)
    found = audit(documents, rule, options, test=tested, new=new, tell=_steps(feedback), kept=kept)
    return AuditResult(found, tuple(feedback.notes))


def _read_data(source: DataFile, archives: Path | None, feedback: Feedback) -> AuditData:
    """The documents with row numbers and all other columns; for folders and collections, what they have."""
    from unnaive.base.open_files import is_address
    from unnaive.curation.audit.audit_input import AuditData
    from unnaive.data.fields.column_kinds import is_id_name
    from unnaive.io.formats import find_format
    from unnaive.workflows.corpora import is_collection_name, read_corpus

    single_path = len(source.paths) == 1 and source.path != "-" and not is_address(source.path)
    collection = single_path and is_collection_name(source.path.partition(":")[0])
    folder = single_path and source.format in (None, "folder") and Path(source.path).is_dir()
    if collection or (folder and find_format(source.path) == "folder"):
        return AuditData.of(read_corpus(source, archives, feedback))
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    ids: list[str] = []
    columns: dict[str, list[Any]] = {}
    id_columns: set[str | None] = set()
    for batch in source.batches(labelled=True, keep=True):
        taken = source.options.log.columns
        id_columns.add(None if taken is None else taken.id)
        used = () if taken is None else (*taken.inputs, taken.label, *taken.label_columns)
        for name, values in batch.kept.items():
            if name not in used and (name in columns or not texts):
                columns.setdefault(name, []).extend(values)
        texts.extend(batch.texts)
        labels.extend(batch.labels)
        ids.extend(batch.ids)
    feedback.read(source)
    whole = {name: values for name, values in columns.items() if len(values) == len(texts)}
    split_name, split = find_split(whole)
    whole.pop(split_name, None)
    naming = frozenset(name for name in whole if name in id_columns or is_id_name(name))
    return AuditData(texts, labels, range(1, len(texts) + 1), ids, source.name, split, whole, id_columns=naming)


def find_split(columns: dict[str, list[Any]]) -> tuple[str, list[str] | None]:
    """(the column with train or test, its values), or ("", None).

    >>> find_split({"split": ["Train", "test"]})
    ('split', ['train', 'test'])
    """
    for name, values in columns.items():
        words = [str(value).strip().casefold() for value in values]
        if (
            name.strip().casefold() in SPLIT_NAMES
            and {"train", "training"} & set(words)
            and set(TEST_WORDS) & set(words)
        ):
            spelt = {**dict.fromkeys(TRAIN_WORDS, "train"), **dict.fromkeys(TEST_WORDS, "test")}
            return name, [spelt.get(word, word) for word in words]
    return "", None


def _read_texts(source: DataFile, path: Path) -> Corpus:
    """The texts of another file, read with the same columns; its labels are not needed."""
    from dataclasses import replace

    from unnaive.data.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.io.read_options import ReadLog

    options = replace(source.options, log=ReadLog())
    other = DataFile((str(path),), text=source.text, options=options, default_columns=source.options.log.columns,
                     message=source.message)  # fmt: skip
    texts = [text for batch in other.batches(labelled=False) for text in batch.texts]
    return Corpus(texts, [()] * len(texts), name=str(path))


def _steps(feedback: Feedback) -> Callable[[str, int, int], None]:
    """A function for the reports of an audit: what it does, how much is done, and of how much."""
    last: list[Any] = [None, 0]

    def tell(words: str, done: int, total: int) -> None:
        if words != last[0] or (total and not last[1]):
            feedback.step(words, total or None)
            last[:] = [words, 0]
        feedback.advance(done - last[1])
        last[1] = done

    return tell
