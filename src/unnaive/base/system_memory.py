"""What the operating system says of memory, and how it is returned; each function falls back where a system cannot."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LARGE_BLOCK = 1 << 20  # bytes


def is_in_memory(folder: str | Path) -> bool:
    """Whether files of a folder are kept in memory (tmpfs), as Linux says; False on other systems."""
    try:
        device = Path(folder).stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = [line.partition(" - ")[2].split(" ")[0] for line in mounts if line.split(" ")[2] == number]
    return any(kind in ("tmpfs", "ramfs") for kind in kinds)


def return_large_blocks() -> None:
    """Make the C library return large blocks to the system as soon as they are freed.

    glibc raises the size threshold for this with every large block that is freed, up to 32 MB. Buffers of a batch then
    stay in a fragmented heap, which grows by up to half. Setting the threshold once keeps it fixed.
    """
    mmap_threshold = -3  # M_MMAP_THRESHOLD of malloc.h
    _call_glibc("mallopt", mmap_threshold, LARGE_BLOCK)


def return_small_blocks() -> None:
    """Return freed memory to the operating system (malloc_trim); holding batches for a while fragments the heap."""
    _call_glibc("malloc_trim", 0)


def find_machine_bytes() -> int | None:
    """The memory that processes of this machine or container may use in all, in bytes; None if unknown."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
    with suppress(OSError, ValueError):  # no limit, or "max"
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return machine


def find_resident_bytes() -> int | None:
    """The resident memory of this process in bytes, including pages of mapped files; None if unknown."""
    try:
        with Path("/proc/self/statm").open("rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def drop_mapped_pages(file_map: Any) -> None:
    """Drop the pages of a file's `mmap` from the memory of this process; they are read again when used."""
    import mmap

    advice = getattr(mmap, "MADV_DONTNEED", None)
    if advice is not None:
        with suppress(OSError, ValueError):
            file_map.madvise(advice)


def _call_glibc(name: str, *numbers: int) -> None:
    """Call a function of the C library, if it exists there."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):  # TypeError: CDLL(None) on Windows
        getattr(ctypes.CDLL(None), name)(*numbers)
