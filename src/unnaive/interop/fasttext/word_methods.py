"""WordMethods: the methods of a fastText model about its words, labels and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Singles
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments
from unnaive.interop.fasttext.arguments import Arguments
from unnaive.interop.fasttext.fasttext_lines import tokenize
from unnaive.interop.fasttext.trained_vectors import TrainedVectors, is_word
from unnaive.learning.fitted import FittedModel
from unnaive.models.fasttext.binary_file import FastTextFile
from unnaive.models.fasttext.fasttext_vectors import FastTextVectors
from unnaive.models.fasttext.features import END
from unnaive.models.fasttext.score_texts import FastTextDocuments


class WordMethods:
    """What FastTextModel tells about words, labels and vectors; see `FastTextModel` for the arguments."""

    _fitted: FittedModel | None
    _file: FastTextFile | None
    _args: Arguments

    @property
    def labels(self) -> list[str]:
        """The labels with their prefix, in fastText's order; of a model trained here, sorted."""
        return self.get_labels()  # type: ignore[no-any-return]

    @property
    def words(self) -> list[str]:
        """The words of the dictionary."""
        return self.get_words()  # type: ignore[no-any-return]

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The labels; with `include_freq` also how often training saw each. For a file of word vectors, the words."""
        if self._fitted is None:
            return self.get_words(include_freq, on_unicode_error)
        fitted, scorer = self._fitted, self._fitted.scorer
        if isinstance(fitted.reader, FastTextDocuments):
            names, counts = fitted.reader.scorer.label_names(fitted.classes), fitted.reader.scorer.label_counts
        else:
            names = [f"{self._args.label}{label}" for label in fitted.classes]
            statistic = fitted.statistic
            counts = np.zeros(scorer.n_classes, np.int64) if statistic is None else np.asarray(statistic.class_docs)
        return (names, np.asarray(counts)) if include_freq else names

    def get_words(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The words; with `include_freq` also how often training saw each. Of a model trained here, frequent first."""
        if self._file is not None:
            names = [word.decode("utf-8", on_unicode_error) for word in self._file.words]
            return (names, self._file.word_counts) if include_freq else names
        if self._word_counts is None:
            if include_freq:
                raise UnnaiveError(
                    "this model was compressed and does not know how often its words occurred; call "
                    "get_words(include_freq=True) before quantize"
                )
            return [term for term in self._vocabulary if is_word(term)]
        words, counts = self._word_counts
        return (list(words), counts) if include_freq else list(words)

    def get_line(self, text: Any, on_unicode_error: str = "strict") -> tuple[list[Any], list[Any]]:
        """The words of a line up to </s>, which ends it, and its labels that the model knows; of a list two lists."""
        if isinstance(text, list):
            both = [self.get_line(line) for line in text]
            return [words for words, _ in both], [labels for _, labels in both]
        known_labels = frozenset() if self._fitted is None else frozenset(self.labels)
        known_words = frozenset() if self._file is None else self._known_words
        words: list[str] = []
        labels: list[str] = []
        for token in tokenize(self._line(text)):
            if token == END:
                break
            if token in known_labels:
                labels.append(token)
            elif token in known_words or not token.startswith(self._args.label):
                words.append(token)
        return [*words, END], labels

    def get_dimension(self) -> int:
        """The length of its vectors."""
        return self._args.dim

    def get_word_id(self, word: str) -> int:
        """The row of a word, −1 for an unknown one."""
        return self._vectors.ids.get(_check_word(word), -1)

    def get_label_id(self, label: str) -> int:
        """The index of a label, −1 for an unknown one."""
        labels: list[str] = [] if self._fitted is None else self.labels
        return labels.index(label) if label in labels else -1

    def get_subword_id(self, subword: str) -> int:
        """The row that a character n-gram is hashed to; of a model trained here its row, −1 for an unknown one."""
        return self._vectors.subword_id(_check_word(subword))

    def get_subwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], NDArray[np.int64]]:
        """A word and its character n-grams, and their rows."""
        names, rows = self._vectors.subwords(_check_word(word))
        return names, np.array(rows, np.int64)

    def get_word_vector(self, word: str) -> Singles:
        """The vector of a word."""
        return self._vectors.word(_check_word(word))

    def get_sentence_vector(self, text: str) -> Singles:
        """The vector of a line."""
        return self._vectors.sentence(self._line(text))

    def get_input_vector(self, ind: int) -> Singles:
        """A row of the input matrix."""
        rows = self._vectors.rows
        if not 0 <= ind < len(rows):
            raise UnnaiveError(f"there is no row {ind} of the input matrix; it has rows 0 to {len(rows) - 1}")
        return np.array(rows[ind])

    def get_input_matrix(self) -> Singles:
        """The input matrix."""
        self._refuse_quantized()
        return np.array(self._vectors.rows)

    def get_output_matrix(self) -> Singles:
        """The output matrix."""
        self._refuse_quantized()
        vectors = self._vectors
        return np.array(vectors.output if isinstance(vectors, TrainedVectors) else vectors.file.output.dense())

    def get_nearest_neighbors(
        self, word: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """The k words nearest to a word by cosine."""
        return self._vectors.neighbours(self.get_word_vector(word), k, {word})

    def get_analogies(
        self, wordA: str, wordB: str, wordC: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """The k words nearest to A − B + C."""
        three = [_check_word(word) for word in (wordA, wordB, wordC)]
        return self._vectors.neighbours(self._vectors.analogy(*three), k, set(three))

    def set_matrices(self, input_matrix: Any, output_matrix: Any) -> None:
        """Not supported: a model here is not changed by hand."""
        raise UnnaiveError(
            "unnaive does not replace the matrices of a model; reduce or change vectors before they are loaded"
        )

    def __getitem__(self, word: str) -> Singles:
        return self.get_word_vector(word)

    def __contains__(self, word: object) -> bool:
        return word in self._known_words

    def is_quantized(self) -> bool:
        """Whether weights are stored in fewer bits."""
        raise NotImplementedError

    def _line(self, entry: Any) -> str:
        if not isinstance(entry, str):
            raise UnnaiveError(f"a text is {type(entry).__name__}; give a str, or a list of str")
        if "\n" in entry:
            raise UnnaiveError("predict processes one line at a time (remove '\\n')")
        return entry

    def _refuse_quantized(self) -> None:
        if self.is_quantized():
            raise UnnaiveError("Can't get quantized Matrix")

    @property
    def _vocabulary(self) -> list[str]:
        vocabulary = None if self._fitted is None else self._fitted.vocabulary
        return [] if vocabulary is None else list(vocabulary.terms)

    @lazy_property
    def _known_words(self) -> frozenset[str]:
        if self._file is None:
            return frozenset(term for term in self._vocabulary if is_word(term))
        return frozenset(word.decode("utf-8", "surrogateescape") for word in self._file.words)

    @lazy_property
    def _word_counts(self) -> tuple[tuple[str, ...], NDArray[np.int64]] | None:
        """The words of a model trained here and how often each occurred, most frequent first; None if not kept."""
        statistic = None if self._fitted is None else self._fitted.statistic
        if statistic is None:
            return None
        if isinstance(statistic, NamedCounts):
            vocabulary, counts = statistic.vocabulary, np.asarray(statistic.counts.terms)
        else:
            documents = statistic.documents if isinstance(statistic, PackedDocuments) else statistic
            vocabulary, counts = documents.words, np.asarray(documents.table.sum(axis=0)).ravel()
        if vocabulary is None:
            return None
        found = {term: round(float(count)) for term, count in zip(vocabulary.terms, counts, strict=True)}
        words = [term for term in self._vocabulary if is_word(term)]
        words.sort(key=lambda word: -found.get(word, 0))
        return tuple(words), np.array([found.get(word, 0) for word in words], np.int64)

    @lazy_property
    def _vectors(self) -> FastTextVectors | TrainedVectors:
        if self._file is not None:
            return FastTextVectors(self._file)
        if self._fitted is None:
            raise UnnaiveError("this model is empty; load one with load_model")
        return TrainedVectors(self._fitted, self._args.dim)


def _check_word(word: Any) -> str:
    if not isinstance(word, str):
        raise UnnaiveError(f"a word is {type(word).__name__}; give a str")
    return word
