"""The names of the module `fasttext.FastText`: `fasttext.FastText._FastText`, `fasttext.FastText.eprint`, …"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from unnaive.base.errors import UnnaiveError
from unnaive.interop.fasttext.arguments import loss_name, model_name
from unnaive.interop.fasttext.fasttext_lines import tokenize
from unnaive.interop.fasttext.model import FastTextModel, load_model
from unnaive.interop.fasttext.training import train_supervised, train_unsupervised

__all__ = [
    "BOW", "EOS", "EOW", "_FastText", "cbow", "eprint", "load_model", "loss_name", "model_name",
    "skipgram", "supervised", "tokenize", "train_supervised", "train_unsupervised",
]  # fmt: skip

BOW, EOW, EOS = "<", ">", "</s>"  # the borders of a word and the end of a line, as fastText names them
_FastText = FastTextModel


def eprint(*content: Any, **options: Any) -> None:
    """Print to stderr. Programs replace it to silence fastText; nothing here prints."""
    print(*content, file=sys.stderr, **options)  # noqa: T201  # fastText's function


def cbow(*arguments: Any, **more: Any) -> NoReturn:
    """A function of the first fasttext package, which fastText refuses too."""
    raise UnnaiveError("`cbow` is not supported any more; load word vectors that fastText trained with load_model")


def skipgram(*arguments: Any, **more: Any) -> NoReturn:
    """A function of the first fasttext package, which fastText refuses too."""
    raise UnnaiveError("`skipgram` is not supported any more; load word vectors that fastText trained with load_model")


def supervised(*arguments: Any, **more: Any) -> NoReturn:
    """A function of the first fasttext package, which fastText refuses too."""
    raise UnnaiveError("`supervised` is not supported any more; use `train_supervised`")
