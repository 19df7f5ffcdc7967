"""The columns of text and labels of a table: named by the user, known from training, or evident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeGuard

from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.base.open_files import STDIN
from unnaive.data.corpus import NoLabels
from unnaive.data.fields.bad_values import BadRecord
from unnaive.data.fields.column_kinds import LABEL_NAMES, TEXT_NAMES, Profile
from unnaive.data.fields.field_choice import arrange_fields
from unnaive.data.fields.fields import with_lengths
from unnaive.data.source_section import SourceSection
from unnaive.io.fields.missing_column import FLAGS_OPTION, last_key, repeat_option, suggest_columns, trained_texts
from unnaive.io.inspection import Inspection
from unnaive.io.label_checks import LabelSpelling
from unnaive.io.labels import name_flags
from unnaive.text.field import VECTOR, Fields, field_kinds, read_fields, text_names, vector_lengths

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

MOST_LISTED = 12
FIXED_KINDS = ("category", "number", "date", "characters", VECTOR)  # kinds of fields that are not texts


@dataclass(frozen=True)
class Columns:
    """The columns to read: one or more of text (joined by a newline), labels and ids, if any.

    Labels are in one column, `label`, or in several of zeros and ones, `label_columns`, for the labels in
    `flag_labels`. `separator` separates the labels of a document. `header` is False if the columns are numbered. `kept`
    are the columns to write before predictions. `spelling` says how labels are normalised. `fields`
    are all columns of documents that are records with fields, the texts first; empty if documents are texts.
    """

    texts: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    separator: str | None = None
    label_columns: tuple[str, ...] = ()
    flag_labels: tuple[str, ...] = ()
    header: bool = True
    kept: tuple[str, ...] = ()
    spelling: LabelSpelling = field(default_factory=LabelSpelling)
    fields: Fields = ()

    def to_dict(self) -> dict[str, Any]:
        """The columns that the next file is likely to have too, as plain JSON; `from_dict` reads it."""
        spelling = asdict(self.spelling) | {"ignored": list(self.spelling.ignored)}
        return {
            "texts": list(self.texts), "label": self.label, "separator": self.separator,
            "label_columns": list(self.label_columns), "flag_labels": list(self.flag_labels), "header": self.header,
        } | ({"spelling": spelling} if self.spelling else {}) | (
            {"fields": [str(item) for item in self.fields]} if self.fields else {}
        )  # fmt: skip

    @classmethod
    def from_dict(cls, stored: Any) -> Columns | None:
        """The inverse of `to_dict`; None for an invalid value, which a model file may contain.

        >>> Columns.from_dict({"texts": ["body"], "label": "queue"}) == Columns(("body",), "queue")
        True
        """
        if not isinstance(stored, dict):
            return None
        texts = stored.get("texts")
        flags, names = stored.get("label_columns", []), stored.get("flag_labels", [])
        if not _is_list_of_names(texts) or not _is_list_of_names(flags) or not _is_list_of_names(names):
            return None
        if len(flags) != len(names):
            return None
        label, separator = (
            value if isinstance(value, str) and value else None for value in map(stored.get, ("label", "separator"))
        )
        header = stored.get("header") is not False
        spelling = _read_spelling(stored.get("spelling"))
        fields = _read_stored_fields(stored.get("fields"), texts)
        return cls(
            tuple(texts), label, None, separator, tuple(flags), tuple(names), header, spelling=spelling, fields=fields
        )

    def section(self) -> SourceSection:
        """What a model keeps about the columns of its training files."""
        return SourceSection.of({"columns": self.to_dict()})

    @classmethod
    def of_section(cls, section: SourceSection | None) -> Columns | None:
        """The columns in the section of a model; None if it has none, an error if they are damaged.

        >>> Columns.of_section(Columns(("body",), "queue").section())
        Columns(texts=('body',), label='queue', ...)
        """
        stored = None if section is None else section.content().get("columns")
        columns = cls.from_dict(stored)
        if stored is not None and columns is None:
            raise BadModel("the columns of the training files in the model are damaged; train it again")
        return columns

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: inputs, label, label columns, id, kept ones."""
        label = () if self.label is None else (self.label,)
        return (*self.inputs, *label, *self.label_columns, *(() if self.id is None else (self.id,)), *self.kept)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that documents consist of: the texts, or all fields."""
        return tuple(field_kinds(self.fields)) if self.fields else self.texts

    def describe(self) -> str:
        """The columns in words.

        >>> Columns(("subject", "body"), "queue").describe()
        'text from subject and body, labels from queue'
        >>> from unnaive.text.field import Field
        >>> Columns(("body",), fields=(Field("body", "text"), Field("age", "number"))).describe()
        'text from body, number from age'
        """
        words = [f"text from {' and '.join(self.texts)}"] if self.texts else []
        for kind in FIXED_KINDS:
            names = [item.name for item in self.fields if item.kind == kind]
            words += [f"{kind} from {join_names(names, 5)}"] if names else []
        if self.label is not None:
            words.append(f"labels from {self.label}")
        if self.label_columns:
            words.append(f"labels from {join_names(self.label_columns, 3)}")
        return ", ".join(words)


def _read_spelling(stored: Any) -> LabelSpelling:
    """The label spelling of a model file; the default for invalid values."""
    if not isinstance(stored, dict):
        return LabelSpelling()
    ignored, prefix, lower = (stored.get(name) for name in ("ignored", "prefix", "lower"))
    return LabelSpelling(
        tuple(ignored) if _is_list_of_names(ignored) else (), prefix if isinstance(prefix, str) else None, lower is True
    )


def _read_stored_fields(stored: Any, texts: list[str]) -> Fields:
    """The fields of a model file; none for invalid values."""
    try:
        fields = read_fields(tuple(stored)) if _is_list_of_names(stored) and stored else None
    except UnnaiveError:
        return ()
    return fields if fields and set(texts) <= set(field_kinds(fields)) else ()


def _is_list_of_names(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def choose_columns(
    inspection: Inspection, request: DataFile, *, labelled: bool, default: Columns | None = None
) -> Columns:
    """The requested columns, the others guessed; an error that lists the columns if they are not evident.

    `default` has columns to prefer before guessing. If `request` has fields="auto", further fields are chosen later, so
    a text column is not required.

    >>> from unnaive.io.datafiles import DataFile
    >>> tickets = Inspection("tickets.csv", "csv", ("id", "Body", "queue"), {})
    >>> choose_columns(tickets, DataFile("tickets.csv"), labelled=True).describe()
    'text from Body, labels from queue'
    >>> notes = Inspection("notes.csv", "csv", ("a", "b", "c"), {"a": ["1"], "b": ["x"]})
    >>> choose_columns(notes, DataFile("notes.csv"), labelled=False)
    Traceback (most recent call last):
    unnaive.base.errors.BadData: which column of notes.csv holds the text? a (1), b (x), c; use --text NAME
    """
    return _ColumnChooser(inspection, request, labelled, default).choose()


class _ColumnChooser:
    """One selection of columns; the steps share the table's names and the summaries of its values."""

    def __init__(self, inspection: Inspection, request: DataFile, labelled: bool, default: Columns | None) -> None:
        self.names, self.sample, self.source = inspection.names, inspection.sample, inspection.source
        self.roles, self.inspection = inspection.roles, inspection
        self.request, self.labelled, self.default = request, labelled, default
        self.fixed_fields, self.guess_fields = request.fixed_fields, request.fields == "auto"

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The kinds of the values, which are needed only if a name does not decide."""
        return self.inspection.profiles

    def choose(self) -> Columns:
        requested = (*self.request.text, *field_kinds(self.fixed_fields), self.request.label, self.request.id)
        for name in requested:
            if name is not None:
                self.check_name(name)
        self.check_named_once(self.request.text, "text")
        self.check_trained_fields()
        flags = self.match_label_columns() if self.labelled else ()
        label = self.find_label() if self.labelled and not flags else None
        texts = self.find_texts(label, flags)
        if self.labelled and not flags and label is None:
            label = self.guess_label((*texts, *self.named_fields))
        fields = self.find_fields(texts, flags if label is None else (label,))
        texts = text_names(fields) if fields else texts
        if not fields and not self.guess_fields:
            self.check_complete(texts, label, flags)
        elif self.labelled and label is None and not flags:
            self.ask_for_label([name for name in self.names if name not in field_kinds(fields)])
        return Columns(
            texts, label, self.request.id or self.roles.get("id"), None, flags, self.name_flags(flags), fields=fields
        )

    def check_trained_fields(self) -> None:
        """Raise an error if a column is missing that the model reads as a field."""
        lacking = self.lacking_fields
        if lacking and not self.has_only_texts:
            raise BadData(
                f"{self.source} has no column {lacking[0]!r}, which the model reads as a field; it has "
                f"{join_names(self.names)}; {self.suggest_column(lacking[0])}"
            )

    def suggest_column(self, name: str) -> str:
        """What to do about a column that is missing: rename one, give a file of vectors, or add it."""
        near = next((other for other in self.names if other.strip().casefold() == name.strip().casefold()), None)
        if near is not None:
            return f"rename {near!r} to {name!r}"
        default = self.default
        if default is not None and name in vector_lengths(default.fields):
            return (
                "add the column, empty where it is not known; predict, evaluate, update and forget also read vectors "
                f"from a file, --set vector={name}=FILE.npy"
            )
        return "add the column, empty where it is not known"

    @property
    def lacking_fields(self) -> list[str]:
        """The fields of the model that are no columns of the table."""
        default = self.default
        inputs = default.inputs if default is not None and default.fields else ()
        return [name for name in inputs if name not in self.names and name not in self.sample]

    @property
    def has_only_texts(self) -> bool:
        """Whether the format has texts and no other fields, such as plain lines, and the model reads a text."""
        default = self.default
        return "text" in self.roles and default is not None and bool(default.texts and self.lacking_fields)

    def find_fields(self, texts: Sequence[str], targets: Sequence[str]) -> Fields:
        """All columns of documents that are records, as in training or as named; empty if documents are texts."""
        default, kinds = self.default, field_kinds(self.fixed_fields)
        if default is not None and default.fields:
            return () if self.has_only_texts else default.fields
        self.check_named_once([item.name for item in self.fixed_fields], "a field")
        repeated = next((name for name in kinds if name in texts or name in targets), None)
        if repeated is not None:
            raise BadData(
                f"column {repeated!r} of {self.source} is named twice, as a {kinds[repeated]} and as text or label; "
                "name it once"
            )
        try:
            # what is read from stdin is not looked at before the fields of the model are settled
            sample = {} if STDIN in self.request.paths else self.sample
            return arrange_fields(texts, with_lengths(kinds, sample)) if kinds else ()
        except BadRecord as problem:
            raise problem.at(f"row {problem.row + 1} of {self.source}") from None

    def check_named_once(self, names: Sequence[str], role: str) -> None:
        """Raise an error if a column was named twice for a role."""
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BadData(f"column {twice!r} of {self.source} is named as {role} twice; name it once")

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The columns that were named as fields beside the texts."""
        return tuple(field_kinds(self.fixed_fields))

    def check_name(self, name: str) -> None:
        """Raise an error that suggests the nearest name, or how several are named, if a column does not exist."""
        if name in self.names or (self.sample and name in self.sample):
            return
        hint = suggest_columns(name, self.names, self.request.text, self.flags if name == self.request.label else ())
        numbered = "; use --set header=false if its first row is data" if name.isdecimal() else ""
        raise BadData(f"{self.source} has no column {name!r}; {hint}it has {join_names(self.names)}{numbered}")

    def match_label_columns(self) -> tuple[str, ...]:
        """The columns of zeros and ones that match the patterns, else those of the training data."""
        patterns = self.request.label_columns
        if not patterns and self.request.label is None and self.default is not None:
            flags = self.default.label_columns
            return flags if set(flags) <= set(self.names) else ()
        matching = [name for name in self.names if any(fnmatchcase(name, pattern) for pattern in patterns)]
        if patterns and not matching:
            hint = suggest_columns(patterns[0], self.names, (), self.names)
            raise BadData(
                f"no column of {self.source} matches {' or '.join(patterns)}; {hint}it has {join_names(self.names)}: "
                "name some of these, or give another pattern"
            )
        return tuple(name for name in matching if name not in self.request.text)

    def name_flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """The labels of columns of zeros and ones."""
        default = self.default
        if default is not None and flags == default.label_columns:
            return default.flag_labels
        return tuple(name_flags(flags, self.request.label_columns))

    def find_label(self) -> str | None:
        """The column of labels that is named, known or evident from its name."""
        default = self.default
        if self.request.label is not None:
            return self.request.label
        if "label" in self.roles:
            return self.roles["label"]
        if default is not None and default.label in self.names:
            return default.label
        return self.find_known_name(LABEL_NAMES, taken=(*self.request.text, *self.named_fields), of_labels=True)

    def find_texts(self, label: str | None, flags: Sequence[str]) -> tuple[str, ...]:
        """The columns of text that are named, known or evident."""
        default = self.default
        if default is not None and default.fields and not self.has_only_texts:
            return default.texts
        if self.request.text:
            return self.request.text
        if "text" in self.roles:
            return (self.roles["text"],)
        learnt = () if default is None else trained_texts(self.source, default.texts, self.names)
        if learnt:
            return learnt
        taken = (*flags, *self.named_fields, *(() if label is None else (label,)))
        column = self.find_known_name(TEXT_NAMES, taken) or self.find_free_text(taken)
        if column is None and (label is not None or flags or not self.labelled):
            column = self.find_other(taken)
        if column is not None and self.guess_fields and self.profiles[column].kind == "ids":
            column = None  # a column called ticket may hold its number; there are other fields
        return () if column is None else (column,)

    def find_known_name(
        self, usual_names: Sequence[Sequence[str]], taken: Sequence[str], of_labels: bool = False
    ) -> str | None:
        """The one column with a typical name; None if there is none, or several equally typical ones."""
        for group in usual_names:
            hits = [name for name in self.names if last_key(name) in group and name not in taken]
            if of_labels:
                hits = [name for name in hits if self.may_be_label(name)]
            if hits:
                return hits[0] if len(hits) == 1 else None
        return None

    def find_free_text(self, taken: Sequence[str]) -> str | None:
        """The one column whose values are free text, if no name decides."""
        if any(last_key(name) in group for group in TEXT_NAMES for name in self.names if name not in taken):
            return None
        others = [name for name in self.names if name not in taken]
        long = [name for name in others if self.profiles[name].kind == "free text"]
        return long[0] if len(long) == 1 else self.find_longest(others) if not long else None

    def find_longest(self, names: Sequence[str]) -> str | None:
        """The column whose values have three or more words, and three times as many as those of any other."""
        lengths = sorted(((self.profiles[name].n_words, name) for name in names), reverse=True)
        if len(lengths) < 2 or lengths[0][0] < 3 or lengths[0][0] < 3 * lengths[1][0]:
            return None
        return lengths[0][1] if len(self.sample.get(lengths[0][1], ())) > 2 else None

    def find_other(self, taken: Sequence[str]) -> str | None:
        others = [name for name in self.names if name not in taken]
        return others[0] if len(others) == 1 else None

    def guess_label(self, texts: Sequence[str]) -> str | None:
        """The other of two columns, or the only one whose values could be classes; None if names are ambiguous."""
        if not texts or any(last_key(n) in g and self.may_be_label(n) for g in LABEL_NAMES for n in self.names):
            return None
        other = self.find_other(texts)
        if other is not None:
            return other if self.may_be_label(other) else None
        if not any(self.sample.values()) or min(map(len, self.sample.values())) < 2:
            return None
        plausible = [name for name in self.names if name not in texts and self.profiles[name].kind in _SURE_LABELS]
        return plausible[0] if len(plausible) == 1 and self.is_sure(plausible[0]) else None

    def is_sure(self, name: str) -> bool:
        values = [str(value) for value in self.sample.get(name, ())]
        return len(values) >= 20 and len(set(values)) <= len(values) / 4

    def may_be_label(self, name: str) -> bool:
        """Whether values could be classes: never dates, ids, free text or numbers with many values."""
        return not self.sample.get(name) or self.profiles[name].is_label or self.profiles[name].kind == "nothing"

    def check_complete(self, texts: Sequence[str], label: str | None, flags: Sequence[str]) -> None:
        no_label = self.labelled and label is None and not flags
        if not texts and no_label:
            raise BadData(
                f"which columns of {self.source} hold the text and the labels? {self.list_columns(self.names)}; "
                f"use --text {self.column_words} --label {self.column_words}{self.suggest_flags()}"
            )
        if not texts:
            raise BadData(
                f"which column of {self.source} holds the text? {self.list_columns(self.names)}; "
                f"use --text {self.column_words}"
            )
        if no_label:
            self.ask_for_label([name for name in self.names if name not in texts])
        if label is not None and label in texts:
            raise BadData(f"column {label!r} of {self.source} cannot be both text and label; name two columns")

    def ask_for_label(self, others: list[str]) -> None:
        plausible = [name for name in others if self.may_be_label(name)]
        if not others:
            raise NoLabels(
                f"{self.source} has only the column {join_names(self.names)}; expected a column of labels too"
            )
        if plausible:
            raise NoLabels(
                f"which column of {self.source} holds the labels? {self.list_columns(plausible)}; "
                f"use --label {self.column_words}{self.suggest_flags()}"
            )
        kinds = ", ".join(f"{name} holds {self.profiles[name].kind}" for name in others[:MOST_LISTED])
        raise NoLabels(f"no column of {self.source} looks like labels: {kinds}; use --label NAME if one of them is")

    @property
    def column_words(self) -> str:
        """The placeholder for a column in a suggested option; columns with the same name have to be given by number."""
        return "NAME" if len(set(self.names)) == len(self.names) else "NAME or its number"

    def list_columns(self, names: Sequence[str]) -> str:
        """Names with three values each; columns with the same name are shown by number."""
        places = {number: name for number, name in enumerate(self.names, start=1) if name in names}
        shown = [
            _with_examples(name, self.profiles[name]) if self.names.count(name) == 1 else f"{number} called {name!r}"
            for number, name in places.items()
        ]
        return join_names(shown, MOST_LISTED)

    @property
    def flags(self) -> list[str]:
        """The columns of zeros and ones."""
        return [name for name in self.names if self.profiles[name].kind == "flags"]

    def suggest_flags(self) -> str:
        """The option for columns of zeros and ones with a common prefix."""
        flags = self.flags
        for name in flags:
            for mark in "_.:- ":
                start = name.rpartition(mark)[0] + mark
                same = [other for other in flags if other.startswith(start)]
                if len(start) > 1 and len(same) > 2:
                    return f", or --set label-columns='{start}*' for the {len(same)} columns of 0 and 1"
        if len(flags) < 3:
            return ""
        return f", or, for labels in columns of 0 and 1, {repeat_option(FLAGS_OPTION, flags[:MOST_LISTED])}"


_SURE_LABELS = ("labels", "lists")


def _with_examples(name: str, profile: Profile) -> str:
    return f"{name} ({', '.join(profile.examples)})" if profile.examples else name


def join_names(names: Sequence[str], limit: int = 30) -> str:
    """The names with commas; if there are very many, the last ones are left out."""
    shown = ", ".join(names[:limit]) or "no columns"
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
