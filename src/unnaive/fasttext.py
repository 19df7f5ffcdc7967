"""fastText's interface: `from unnaive import fasttext` in the place of `import fasttext`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from unnaive.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from unnaive.interop.fasttext import util as util
    from unnaive.interop.fasttext.fasttext_lines import tokenize as tokenize
    from unnaive.interop.fasttext.model import FastTextModel as FastTextModel
    from unnaive.interop.fasttext.model import load_model as load_model
    from unnaive.interop.fasttext.names import cbow as cbow
    from unnaive.interop.fasttext.names import skipgram as skipgram
    from unnaive.interop.fasttext.names import supervised as supervised
    from unnaive.interop.fasttext.training import train_supervised as train_supervised
    from unnaive.interop.fasttext.training import train_unsupervised as train_unsupervised

BOW, EOW, EOS = "<", ">", "</s>"  # the borders of a word and the end of a line, as fastText names them

_HOMES = {
    "FastTextModel": "unnaive.interop.fasttext.model",
    "cbow": "unnaive.interop.fasttext.names",
    "load_model": "unnaive.interop.fasttext.model",
    "skipgram": "unnaive.interop.fasttext.names",
    "supervised": "unnaive.interop.fasttext.names",
    "tokenize": "unnaive.interop.fasttext.fasttext_lines",
    "train_supervised": "unnaive.interop.fasttext.training",
    "train_unsupervised": "unnaive.interop.fasttext.training",
}
_MODULES = {"FastText": "unnaive.interop.fasttext.names", "util": "unnaive.interop.fasttext.util"}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours
    _import_name = lazy_names(__name__, _HOMES)

    def __getattr__(name):
        return import_module(_MODULES[name]) if name in _MODULES else _import_name(name)


def __dir__() -> list[str]:
    return sorted(["BOW", "EOS", "EOW", *_HOMES, *_MODULES])
