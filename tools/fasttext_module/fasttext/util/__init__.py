"""The names of fastText's module of this name."""

from unnaive.interop.fasttext.util import *  # noqa: F403
