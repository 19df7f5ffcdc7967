"""fastText's interface: `from unnaive import fasttext` in the place of `import fasttext`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.classifier.fasttext.lines import tokenize as tokenize
    from unnaive.classifier.fasttext.model import FastTextModel as FastTextModel
    from unnaive.classifier.fasttext.model import load_model as load_model
    from unnaive.classifier.fasttext.training import train_supervised as train_supervised
    from unnaive.classifier.fasttext.training import train_unsupervised as train_unsupervised

BOW, EOW, EOS = "<", ">", "</s>"  # the borders of a word and the end of a line, as fastText names them

_HOMES = {
    "tokenize": "lines",
    "FastTextModel": "model",
    "load_model": "model",
    "train_supervised": "training",
    "train_unsupervised": "training",
}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'unnaive.fasttext' has no attribute {name!r}")
        return getattr(import_module(f"unnaive.classifier.fasttext.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(["BOW", "EOS", "EOW", *_HOMES])
