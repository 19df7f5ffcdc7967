"""The memory limit of training (`--memory 2G`) in bytes, and the part of it available to tables of counts."""

from __future__ import annotations

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import UnnaiveError

# the program, input blocks and documents being summed: 120 MB measured by benchmarks/out_of_core.py
FIXED = 160 << 20
LEAST = 256 << 20
TERM_BYTES = 80  # per term, in the kernel's tables and two arrays of sums, in addition to its letters
CELL_BYTES = 56  # per class and term seen together: two tables, and their sum while they are merged


def parse_memory(text: str) -> int:
    """The value of --memory in bytes; an error if it is too small to run at all."""
    size = parse_size(text)
    if size < LEAST:
        raise UnnaiveError(f"--memory is {text}, too little for training; give at least {LEAST >> 20}M")
    return size


def table_bytes(n_terms: int, letters: int, n_cells: int) -> int:
    """An upper estimate of the memory of the tables of counts while documents are counted.

    >>> table_bytes(1_000_000, 9_000_000, 2_000_000) >> 20
    200
    """
    return TERM_BYTES * n_terms + 2 * letters + CELL_BYTES * n_cells


def table_budget(memory: int | None) -> int | None:
    """The part of the memory limit available to tables of counts; None for no limit."""
    return None if memory is None else max(0, memory - FIXED)
