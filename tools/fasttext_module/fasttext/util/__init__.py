"""The names of fastText's module of this name."""

from unnaive.interop.fasttext.util import download_model as download_model
from unnaive.interop.fasttext.util import find_nearest_neighbor as find_nearest_neighbor
from unnaive.interop.fasttext.util import reduce_model as reduce_model
from unnaive.interop.fasttext.util import test as test
