"""fastText's interface over unnaive, for programs that `import fasttext`; built by tools/fasttext_wheel.py."""

from fasttext import FastText as FastText
from unnaive.fasttext import BOW as BOW
from unnaive.fasttext import EOS as EOS
from unnaive.fasttext import EOW as EOW
from unnaive.fasttext import cbow as cbow
from unnaive.fasttext import load_model as load_model
from unnaive.fasttext import skipgram as skipgram
from unnaive.fasttext import supervised as supervised
from unnaive.fasttext import tokenize as tokenize
from unnaive.fasttext import train_supervised as train_supervised
from unnaive.fasttext import train_unsupervised as train_unsupervised
