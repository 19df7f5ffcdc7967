"""How much memory training may take: `--memory 2G` in bytes, and what is left of it for tables of counts."""

from __future__ import annotations

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import UnnaiveError

# the program, blocks being read, documents being summed: 120 MB measured by benchmarks/out_of_core.py
FIXED = 160 << 20
LEAST = 256 << 20
TERM_BYTES = 80  # of a term: its places in the kernel's tables and in two arrays of sums, beside its letters
CELL_BYTES = 56  # of a class and term that were seen together: two tables, and their sum while they are merged


def parse_memory(text: str) -> int:
    """The bytes of --memory, which must be enough to run at all."""
    size = parse_size(text)
    if size < LEAST:
        raise UnnaiveError(f"--memory is {text}; training needs at least {LEAST >> 20}M")
    return size


def table_bytes(n_terms: int, letters: int, n_cells: int) -> int:
    """What tables of counts take while documents are counted: an upper estimate.

    >>> table_bytes(1_000_000, 9_000_000, 2_000_000) >> 20
    200
    """
    return TERM_BYTES * n_terms + 2 * letters + CELL_BYTES * n_cells


def table_budget(memory: int | None) -> int | None:
    """How much tables of counts may take of the memory; None for any amount."""
    return None if memory is None else max(0, memory - FIXED)
