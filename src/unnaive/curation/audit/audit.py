"""Run all checks of an audit on the data, which is counted once; the result is an Audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unnaive.base.elementary import exp
from unnaive.base.errors import BadData, count_noun
from unnaive.base.types import Ids, Sparse
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.classes import class_findings, confused_classes
from unnaive.curation.audit.duplicates import duplicate_findings, leaks_between
from unnaive.curation.audit.findings import RELABEL, Finding, sort_findings
from unnaive.curation.audit.label_errors import (
    MOST_CELLS,
    MOST_WEIGHTS,
    ErrorEstimate,
    LabelEvidence,
    estimate_errors,
    leave_one_out_evidence,
    out_of_fold_evidence,
)
from unnaive.curation.audit.leaks import boilerplate_findings, column_findings
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.curation.audit.multilabel_errors import (
    estimate_label_errors,
    label_table,
    multilabel_evidence,
    multilabel_findings,
)
from unnaive.curation.audit.texts import text_findings
from unnaive.curation.audit.unfinished import Unfinished
from unnaive.data.corpus import Corpus
from unnaive.evaluation.class_shares import ClassShare, class_shares
from unnaive.evaluation.drift import FEWEST_TEXTS, Drift, changed_terms
from unnaive.evaluation.two_sample import add_class_evidence, two_sample_test
from unnaive.learning.explanation import percent
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

FEWEST_FOR_ERRORS = 20  # documents
BULK_FROM = 0.9  # least probability of a proposed label that `clean` accepts without anybody having read the text
TERMS_SHOWN = 5

AuditProgress = Callable[[str, int, int], None]  # (stage, steps done, total steps)


@dataclass(frozen=True)
class AuditOptions:
    """The options of an audit.

    fast       find label errors by exact leave-one-out naive Bayes, instead of pooled models by cross-validation
    threshold  Jaccard similarity of terms above which texts are near duplicates
    most       maximum number of label errors listed
    """

    fast: bool = False
    threshold: float = 0.8
    most: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Audit:
    """The results. `notes` say which checks were not possible, and why.

    suspects  the number of documents whose labels the models doubt; `findings` list the first of them
    """

    name: str
    n_docs: int
    n_classes: int
    n_terms: int
    findings: tuple[Finding, ...]
    errors: ErrorEstimate | None
    fast: bool
    drift: Drift | None = None
    notes: tuple[str, ...] = ()
    suspects: int = 0


def audit(
    data: AuditData,
    rule: TokenRule,
    options: AuditOptions,
    *,
    test: Corpus | None = None,
    new: Corpus | None = None,
    tell: AuditProgress | None = None,
    kept: Unfinished | None = None,
) -> Audit:
    """Run all checks on the data, compare it with a test file, and compare new texts with it.

    `kept` has the fold scores of an interrupted audit, which are reused.

    >>> data = AuditData.of(Corpus(["good ball", "good ball"], [("sport",), ("sport",)]))
    >>> found = audit(data, TokenRule(), AuditOptions())
    >>> [(one.kind, one.row) for one in found.findings]
    [('duplicate', 2), ('small-class', 0)]
    """
    say = tell or (lambda words, done, total: None)
    if not len(data):
        raise BadData(f"{data.name} has no documents; there is nothing to audit")
    say("counting words", 0, 0)
    counter = TextCounter(rule)
    X = counter.count(data.texts, grow=True)
    vocabulary = counter.vocabulary
    notes: list[str] = []
    findings = class_findings(data)
    data = replace(
        data, same={finding.label: finding.proposed for finding in findings if finding.kind == "label-spelling"}
    )
    say("looking for duplicates", 0, 0)
    findings += duplicate_findings(data, X, threshold=options.threshold, seed=options.seed)
    if test is not None:
        theirs = counter.count(test.texts, grow=True)
        findings += leaks_between(data, X, test, theirs, threshold=options.threshold, seed=options.seed)
    say("looking at texts and columns", 0, 0)
    findings += text_findings(data, X, vocabulary)
    findings += column_findings(data)
    findings += boilerplate_findings(data)
    fast, estimate, suspects = options.fast, None, 0
    reason = _why_not_errors(data)
    if reason:
        notes.append(reason)
    else:
        say("looking for label errors", 0, 0)
        too_large = _too_large(X, len(data.classes))
        if too_large and data.multilabel:
            notes.append(f"label errors were not searched for, because {too_large}")
        elif data.multilabel:
            fast = False
            errors, estimate, suspects = multilabel_errors(data, X, options, say, kept)
            findings += errors
        else:
            if too_large:
                notes.append(f"label errors were searched for with --fast, because {too_large}")
            fast = fast or bool(too_large)
            rows, evidence, model = label_evidence(data, X, replace(options, fast=fast), say, kept)
            estimate, suspects = estimate_errors(evidence), int(evidence.disagrees.sum())
            errors = list(label_error_findings(data, rows, evidence, model, vocabulary, options.most))
            findings += choose_bulk(errors, estimate)
            findings += confused_classes(evidence, data.classes)
    drift = None
    if new is not None:
        say("comparing with new texts", 0, 0)
        drift = find_drift(data, X, counter, new, seed=options.seed)
    return Audit(
        data.name, len(data), len(data.classes), X.shape[1], tuple(sort_findings(findings)), estimate, fast, drift,
        tuple(notes), suspects,
    )  # fmt: skip


def _why_not_errors(data: AuditData) -> str:
    labelled = int(np.sum(data.codes >= 0))
    if labelled < FEWEST_FOR_ERRORS or len(data.classes) < 2:
        return (
            f"label errors were not searched for, because this needs {FEWEST_FOR_ERRORS} labelled "
            f"documents of two classes; there are {count_noun(labelled, 'document')} of "
            f"{count_noun(len(data.classes), 'class', 'classes')}"
        )
    return ""


def _too_large(X: Sparse, n_classes: int) -> str:
    """Why cross-validation is not possible; empty if it is."""
    if X.shape[0] * n_classes <= MOST_CELLS and X.shape[1] * n_classes <= MOST_WEIGHTS:
        return ""
    return f"{X.shape[0]:,} documents × {n_classes:,} classes are too many for cross-validation"


def multilabel_errors(
    data: AuditData, X: Sparse, options: AuditOptions, say: AuditProgress, kept: Unfinished | None = None
) -> tuple[list[Finding], ErrorEstimate, int]:
    """Findings on documents with doubtful labels, the number that is wrong or missing, the number doubted."""
    rows = np.flatnonzero(data.codes >= 0)
    evidence = multilabel_evidence(
        X[rows], label_table(data, rows), seed=options.seed,
        progress=lambda done, total: say("looking for label errors", done, total), kept=kept,
    )  # fmt: skip
    estimate = estimate_label_errors(evidence)
    findings = choose_bulk(list(multilabel_findings(data, rows, evidence, options.most)), estimate)
    return findings, estimate, len(evidence.ranking())


def choose_bulk(findings: Sequence[Finding], estimate: ErrorEstimate) -> list[Finding]:
    """The label errors, of which some may be accepted in bulk: the first whose proposed label has p ≥ .9.

    They are at most as many as labels are probably wrong (the upper end of the estimate): further down the list, more
    labels are right than wrong, so that accepting them all makes the data worse.

    >>> doubted = [Finding("label-error", "", probability=p) for p in (0.97, 0.6, 0.95, 0.93)]
    >>> [finding.bulk for finding in choose_bulk(doubted, ErrorEstimate(1.0, 0.0, 2.5))]
    [True, False, True, False]
    """
    left, chosen = int(estimate.high), []
    for finding in findings:
        bulk = left > 0 and (finding.probability or 0.0) >= BULK_FROM
        left -= bulk
        chosen.append(replace(finding, bulk=bulk))
    return chosen


def label_evidence(
    data: AuditData, X: Sparse, options: AuditOptions, say: AuditProgress, kept: Unfinished | None = None
) -> tuple[Ids, LabelEvidence, LeaveOneOut]:
    """Return the labelled rows, the evidence about their labels, and the counts that explain it by terms."""
    rows = np.flatnonzero(data.codes >= 0)
    documents = X if len(rows) == X.shape[0] else X[rows]
    codes, n_classes = data.codes[rows], len(data.classes)
    model = LeaveOneOut.of(documents, codes, n_classes)

    def progress(done: int, total: int) -> None:
        say("looking for label errors", done, total)

    if options.fast:
        return rows, leave_one_out_evidence(model, seed=options.seed, progress=progress), model
    evidence = out_of_fold_evidence(documents, codes, n_classes, seed=options.seed, progress=progress, kept=kept)
    return rows, evidence, model


def label_error_findings(
    data: AuditData, rows: Ids, evidence: LabelEvidence, model: LeaveOneOut, vocabulary: Vocabulary, most: int
) -> Iterator[Finding]:
    """Yield a finding for each document to which the model gives another label, least probable labels first."""
    suspicion = evidence.suspicion
    for index in evidence.ranking()[:most].tolist():
        rival, given_class = int(evidence.rival[index]), int(evidence.given[index])
        terms = disagreeing_terms(model, index, rival, given_class, vocabulary)
        p_rival, p_given = float(exp(evidence.log_rival[index])), float(exp(evidence.log_given[index]))
        because = f"; terms in favour of {data.classes[rival]!r}: {', '.join(terms)}" if terms else ""
        yield data.finding(
            rows[index],
            "label-error",
            f"a model that has not seen it gives {data.classes[rival]!r} {percent(p_rival)} and "
            f"{data.classes[given_class]!r} {percent(p_given)}{because}",
            RELABEL,
            proposed=data.classes[rival],
            score=float(suspicion[index]),
            probability=float(p_rival),
        )


def disagreeing_terms(model: LeaveOneOut, row: int, rival: int, given_class: int, vocabulary: Vocabulary) -> list[str]:
    """The terms of a document that favour the rival over the given class most."""
    terms, evidence = model.term_evidence(row, rival, given_class)
    order = np.argsort(-evidence, kind="stable")[:TERMS_SHOWN]
    return [vocabulary[int(terms[k])] for k in order if evidence[k] > 0]


def find_drift(data: AuditData, X: Sparse, counter: TextCounter, new: Corpus, *, seed: int = 0) -> Drift:
    """Compare new texts with the data: two-sample test, class shares, changed terms."""
    for name, n in ((data.name, len(data)), (new.name, len(new))):
        if n < FEWEST_TEXTS:
            raise BadData(f"{name} has {count_noun(n, 'text')}; a test for a change needs {FEWEST_TEXTS} on each side")
    theirs = counter.count(new.texts, grow=True)
    X = X.copy()
    X.resize((X.shape[0], theirs.shape[1]))
    rows = np.flatnonzero(data.codes >= 0)
    shares: tuple[ClassShare, ...] = ()
    if not data.multilabel and len(data.classes) > 1 and X.shape[1] * len(data.classes) <= MOST_WEIGHTS:
        shares = class_shares(X[rows], data.codes[rows], data.classes, theirs, seed=seed)
    terms, tested = changed_terms(X, theirs, counter.vocabulary)
    test = add_class_evidence(two_sample_test(X, theirs, seed=seed), [share.p for share in shares])
    return Drift(data.name, new.name, len(data), len(new), test, shares, terms, tested)
