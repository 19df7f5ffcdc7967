"""Find texts by their answers, to correct them, to decide them, or to label them all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unnaive.base.errors import choose
from unnaive.curation.labelling.label_log import IMPORTED, RecordedAnswer
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.record_tables import DECIDED
from unnaive.text.sections import shown_record

STATES = ("all", "review", "labelled", "unlabelled", "skipped", "flagged", "disagreed")
SHORT = 300  # characters of a text in a list


@dataclass(frozen=True)
class TextFilter:
    """Which texts to list.

    state   "all"; "labelled", "unlabelled"; "skipped", "flagged", "disagreed" by anybody; "review", any of these three
            that no reviewer has decided since
    label   with this class in an answer; unlabelled texts by the class that the model predicts
    words   with all of these words
    by      answered by this annotator
    """

    state: str = "all"
    label: str | None = None
    words: str | None = None
    by: str | None = None


def find_texts(labelling: Labelling, wanted: TextFilter) -> list[int]:
    """The texts that a filter selects: the latest answers first, then texts without an answer in their order."""
    choose([*STATES], wanted.state, "state of texts")
    with labelling.lock:
        labelling.sync()
        answers = answers_by_text(labelling)
        texts = range(len(labelling.pool)) if not wanted.words else labelling.pool.search(wanted.words).tolist()
        if wanted.state not in ("all", "unlabelled") or wanted.by:
            texts = [text for text in texts if text in answers]
        predicted = (
            labelling.learner.predicted_labels() if wanted.label and wanted.state in ("all", "unlabelled") else []
        )
        selected = []
        for text in texts:
            given = [one for one in answers.get(text, ()) if wanted.by in (None, one.who)]
            if wanted.by and not given:
                continue
            if not _is_in_state(wanted.state, given, labelling.pool.labels_of(text)):
                continue
            if wanted.label and not _has_label(wanted.label, given, predicted[text] if predicted else ()):
                continue
            selected.append(text)
        return sorted(selected, key=lambda text: (-max((one.id for one in answers.get(text, ())), default=0), text))


def answers_by_text(labelling: Labelling) -> dict[int, list[RecordedAnswer]]:
    """The current answer of each annotator about each text, in the order of time."""
    answers: dict[int, list[RecordedAnswer]] = {}
    for votes in labelling.votes.values():
        for text, answer in votes.items():
            answers.setdefault(text, []).append(answer)
    return {text: sorted(given, key=lambda answer: answer.id) for text, given in answers.items()}


def _is_in_state(state: str, answers: list[RecordedAnswer], labels: tuple[str, ...] | None) -> bool:
    if state == "all":
        return True
    if state in ("labelled", "unlabelled"):
        return (labels is not None) == (state == "labelled")
    if state == "review":
        return bool(reasons_to_review(answers))
    kinds = {"skipped": "skip", "flagged": "flag"}
    return is_disagreed(answers) if state == "disagreed" else any(one.kind == kinds[state] for one in answers)


def _has_label(label: str, answers: list[RecordedAnswer], predicted: tuple[str, ...]) -> bool:
    labelled = [one for one in answers if one.kind == "label"]
    return any(label in one.labels for one in labelled) if labelled else label in predicted


def is_disagreed(answers: list[RecordedAnswer]) -> bool:
    """Whether two annotators gave a text different labels."""
    return len({one.labels for one in answers if one.kind == "label"}) > 1


def reasons_to_review(answers: list[RecordedAnswer]) -> list[str]:
    """Why a reviewer should decide a text: "flagged", "skipped", "disagreed"; none if one has since."""
    decided = max((one.id for one in answers if one.way == DECIDED and one.kind == "label"), default=0)
    later = [one for one in answers if one.id > decided]
    reasons = [word for kind, word in (("flag", "flagged"), ("skip", "skipped")) if any(a.kind == kind for a in later)]
    return [*reasons, "disagreed"] if any(one.kind == "label" for one in later) and is_disagreed(answers) else reasons


def describe_text(labelling: Labelling, text: int, answers: list[RecordedAnswer]) -> dict[str, Any]:
    """A text of a list, as JSON values."""
    body = shown_record(labelling.pool.texts[text])
    return {
        "number": text, "name": labelling.names[text],
        "body": body if len(body) <= SHORT else f"{body[:SHORT]}…",
        "labels": labelling.pool.labels_of(text), "reasons": reasons_to_review(answers),
        "answers": [describe_answer(answer) for answer in answers], "measures": text in labelling.pool.reserved,
    }  # fmt: skip


def describe_answer(answer: RecordedAnswer) -> dict[str, Any]:
    """The answer of an annotator, as JSON values."""
    return {
        "who": answer.who, "kind": answer.kind, "labels": list(answer.labels), "at": answer.at, "way": answer.way,
        "suggested": answer.suggested, "probability": answer.probability, "imported": answer.who == IMPORTED,
    }  # fmt: skip
