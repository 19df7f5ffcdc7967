"""The names of fastText's module of this name."""

from unnaive.interop.fasttext.names import *  # noqa: F403
