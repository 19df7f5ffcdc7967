"""min_df: terms that are in too few documents are left out."""

from __future__ import annotations

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Ids
from unnaive.data.counts import Counts
from unnaive.linear import linear


def frequent_terms(counts: Counts, min_df: int = 1) -> Ids:
    """Ids of the terms that are in at least `min_df` documents, ascending; an error if there are none.

    >>> from scipy.sparse import csr_array
    >>> frequent_terms(Counts.of(csr_array([[1, 1, 0], [2, 0, 0]]), csr_array([[1], [1]])), min_df=2)
    array([0])
    """
    if isinstance(min_df, bool) or not isinstance(min_df, int) or min_df < 1:
        raise UnnaiveError(f"min_df is {min_df!r}; give a whole number of at least 1")
    # with weights a document may count less than one: every seen term is in 1 document or more
    frequent = np.flatnonzero(counts.df > 0 if min_df == 1 else counts.df >= min_df)
    if not len(frequent):
        reason = "check the texts and the options for reading them" if min_df == 1 else "lower min_df"
        what = "there is no term to learn from" if min_df == 1 else f"no term is in at least {min_df} documents"
        raise BadData(f"{what}; {reason}")
    return frequent


def min_df_for_full_table(counts: Counts, min_df: int = 1) -> int:
    """The smallest number of documents, at least `min_df`, for which a weight for every class and term fits in memory.

    It depends only on the sums: the same terms are left out, whatever the order of documents.
    """
    df, most = np.ceil(np.asarray(counts.df)), linear.FULL_CELLS // max(1, counts.n_classes)
    frequencies = np.sort(df[df >= min_df])[::-1]
    if len(frequencies) <= most:
        return min_df
    return int(frequencies[most]) + 1  # terms with as many documents as the first that does not fit are left out too
