"""Bindings: the methods of fastText's compiled module that programs call on `model.f`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.interop.fasttext.arguments import Arguments
from unnaive.interop.fasttext.fasttext_lines import tokenize

if TYPE_CHECKING:
    from unnaive.interop.fasttext.model import FastTextModel

# compiled method: method of the model with the same arguments
METHODS = {
    "getAnalogies": "get_analogies", "getInputMatrix": "get_input_matrix", "getLabelId": "get_label_id",
    "getNN": "get_nearest_neighbors", "getOutputMatrix": "get_output_matrix", "getSubwordId": "get_subword_id",
    "getSubwords": "get_subwords", "getWordId": "get_word_id", "isQuant": "is_quantized", "quantize": "quantize",
    "saveModel": "save_model", "test": "test", "testLabel": "test_label",
}  # fmt: skip


class Bindings:
    """`predict` of one line gives pairs (probability, label); lines end with a newline here."""

    def __init__(self, model: FastTextModel, args: Arguments) -> None:
        self._model, self._args = model, args

    def getArgs(self) -> Arguments:
        """The arguments of the model."""
        return self._args

    def predict(
        self, text: str, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """The best labels of a line, each after its probability."""
        labels, values = self._model.predict(_without_newline(text), k, threshold)
        return list(zip(values.tolist(), labels, strict=True))

    def multilinePredict(
        self, lines: list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> Any:
        """The labels of each line, and their probabilities."""
        return self._model.predict([_without_newline(line) for line in lines], k, threshold)

    def getLine(self, text: str, on_unicode_error: str = "strict") -> Any:
        """The words of a line, and its labels."""
        return self._model.get_line(_without_newline(text))

    def multilineGetLine(self, lines: list[str], on_unicode_error: str = "strict") -> Any:
        """The words of each line, and the labels of each."""
        return self._model.get_line([_without_newline(line) for line in lines])

    def getVocab(self, on_unicode_error: str = "strict") -> Any:
        """The words, and how often training saw each."""
        return self._model.get_words(include_freq=True, on_unicode_error=on_unicode_error)

    def getLabels(self, on_unicode_error: str = "strict") -> Any:
        """The labels, and how often training saw each."""
        return self._model.get_labels(include_freq=True, on_unicode_error=on_unicode_error)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return tokenize(text)

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return getattr(self._model, METHODS[name])
        own = [method for method in vars(type(self)) if not method.startswith("_")]
        raise AttributeError(f"fastText's compiled module has no {name} here; there are {', '.join([*METHODS, *own])}")


def _without_newline(line: Any) -> str:
    if not isinstance(line, str):
        raise UnnaiveError(f"a text is {type(line).__name__}; give a str")
    return line.removesuffix("\n")
