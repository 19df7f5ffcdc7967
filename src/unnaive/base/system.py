"""What differs between operating systems, in one place: locks, replacing files that are open, cores, memory, terminals.

No other module imports what only some systems have (`fcntl`, `msvcrt`, `resource`, `termios`, …); a test looks. What
the system offers decides, not its name: a function does the portable thing where the better one is missing.
Windows differs in three ways that matter here: a file that is open, or whose pages are mapped, cannot be replaced or
removed; a lock keeps others from reading, too; and what `select` waits for is only sockets.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    fcntl = None
try:
    import msvcrt  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    msvcrt = None

OPEN_FILES_MOVE = fcntl is not None  # whether a file that somebody has open may be renamed, replaced and removed
PATIENCE = 5.0  # seconds that a file may be held by others, a virus scanner for instance, before it is an error
NAP = 0.02  # seconds between two tries
LOCKED_BYTE = 1 << 40  # behind the end of any file that is locked: what is locked there cannot be read by others
# of every file that is opened by os.open: not handed on to other programs, and bytes as they are
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
MANY_DESCRIPTORS = 1 << 16  # where the system has no limit, or does not tell
LARGE_BLOCK = 1 << 20  # bytes
SCRATCH = ".unnaive-"  # how the names of folders for temporary files begin


def count_cores() -> int:
    """The cores that this process may use; all of the machine where the system does not tell.

    >>> 1 <= count_cores() <= os.cpu_count()
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def count_descriptors() -> int:
    """How many files, connections included, the system lets this process have open."""
    try:
        import resource
    except ImportError:  # no such limit
        return MANY_DESCRIPTORS
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MANY_DESCRIPTORS if most == resource.RLIM_INFINITY else most


def is_root() -> bool:
    """Whether this is the user who may do anything; never where there is no such user."""
    return bool(user_id() == 0)


def user_id() -> int | None:
    """The number of the user; None where users have none."""
    found = getattr(os, "geteuid", None)
    return None if found is None else int(found())


def lock_file(handle: int, *, wait: bool = True) -> None:
    """Take an exclusive lock on an open file, until it is closed; without `wait` BlockingIOError if somebody has it.

    Where there are neither `fcntl` nor `msvcrt`, there are no other processes that one could share files with.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif msvcrt is not None:
        _lock_byte(handle, wait)


def _lock_byte(handle: int, wait: bool) -> None:
    """Lock one byte far behind the end; the place in the file stays what it was."""
    before = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        while True:
            os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
            try:
                return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[no-any-return]
            except OSError as problem:
                if not wait:
                    raise BlockingIOError(problem.errno, "somebody else has locked the file") from problem
            time.sleep(NAP)
    finally:
        os.lseek(handle, before, os.SEEK_SET)


@contextmanager
def locked_for_replacing(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the one lock of a file that is replaced inside: others who ask for it wait, or without `wait` get an error.

    The lock is on the file itself where open files can be replaced: on the one that is at `path` when the lock is
    there, since a writer before us renames a new one. Elsewhere it is on a file beside it, which stays.
    """
    if not OPEN_FILES_MOVE:
        with path.open("rb"):  # an error if it is not there, or cannot be read
            pass
        with open_lock(path, wait=wait):
            yield
        return
    while True:
        with path.open("rb") as file:
            lock_file(file.fileno(), wait=wait)
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def open_lock(path: Path, *, wait: bool = True) -> BinaryIO:
    """The locked file `.lock` beside `path`, for its owner alone; closing it gives the lock back."""
    file = os.fdopen(os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR | PLAIN, 0o600), "r+b")
    try:
        lock_file(file.fileno(), wait=wait)
    except BaseException:
        file.close()
        raise
    return file


def replace_file(source: Path, target: Path) -> None:
    """Rename `source` to `target`, which may be there; where readers hold a file, wait a few seconds for them."""
    deadline = time.monotonic() + (0 if OPEN_FILES_MOVE else PATIENCE)
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(NAP)


def place_new(source: Path, target: Path) -> None:
    """Rename `source` to `target`; FileExistsError if somebody was quicker, where `replace` would overwrite theirs."""
    if OPEN_FILES_MOVE:
        os.link(source, target)
        source.unlink()
    else:
        source.rename(target)  # which fails there if the target exists


def flush_folder(folder: Path) -> None:
    """Make a rename in the folder durable, where a folder can be opened; elsewhere the system does it by itself."""
    if not OPEN_FILES_MOVE:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def keep_owner(handle: int, owner: int, group: int) -> bool:
    """Give an open file to another user and group, and return whether that went well; always where there are none."""
    change = getattr(os, "fchown", None)
    try:
        if change is not None:
            change(handle, owner, group)
    except OSError:
        return False
    return True


def keep_mode(handle: int, mode: int) -> None:
    """Set the permissions of an open file, where they belong to files."""
    change = getattr(os, "fchmod", None)
    if change is not None:
        with suppress(OSError):
            change(handle, mode)


def map_or_read(file: BinaryIO) -> Any:
    """The bytes of an open file: its pages, or a copy where mapped files cannot be replaced. Empty: a ValueError."""
    if OPEN_FILES_MOVE:
        import mmap

        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content = file.read()
    if not content:
        raise ValueError("nothing can be mapped of an empty file")
    return content


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder of its own in `parent`, or where temporary files go, removed with all that is in it.

    Where mapped files cannot be removed, those that arrays still stand on are removed when the program ends.
    """
    from tempfile import TemporaryDirectory, mkdtemp

    if OPEN_FILES_MOVE:
        with TemporaryDirectory(prefix=SCRATCH, dir=parent) as name:
            yield Path(name)
        return
    folder = Path(mkdtemp(prefix=SCRATCH, dir=parent)).absolute()
    try:
        yield folder
    finally:
        if not _remove_folder(folder):
            import atexit

            atexit.register(_remove_folder, folder)


def _remove_folder(folder: Path) -> bool:
    """Remove what can be removed of a folder, and return whether that was all."""
    import gc
    import shutil

    gc.collect()  # arrays in cycles hold their files, too
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def at_fork(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call `before` whenever this process forks, and `after` in both of the processes; without effect without fork."""
    register = getattr(os, "register_at_fork", None)
    if register is not None:
        register(before=before, after_in_parent=after, after_in_child=after)


def return_large_blocks() -> None:
    """Make the C library give large blocks back to the system as soon as they are free.

    glibc raises the size from which it does so with every large block that is freed, up to 32 MB; what comes and goes
    with each batch then stays in a heap with holes, which grows for a while by half. Setting the size once keeps it.
    """
    mmap_threshold = -3  # M_MMAP_THRESHOLD of malloc.h
    _call_glibc("mallopt", mmap_threshold, LARGE_BLOCK)


def return_small_blocks() -> None:
    """Return freed memory to the operating system (malloc_trim): batches that were held for a while leave holes."""
    _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *numbers: int) -> None:
    """Call a function of the C library; nothing happens where it has none of this name."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):  # TypeError: CDLL(None) on Windows
        getattr(ctypes.CDLL(None), name)(*numbers)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C while processes start, so that they ignore it even while they import; this one gets it after."""
    block = getattr(signal, "pthread_sigmask", None)
    if block is None:
        yield
        return
    before = block(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        block(signal.SIG_SETMASK, before)


def at_hangup(loop: Any, action: Callable[[], None]) -> None:
    """Let an event loop call `action` at SIGHUP; without effect where there is none, or not in the main thread."""
    with suppress(RuntimeError, ValueError, NotImplementedError, AttributeError):
        loop.add_signal_handler(signal.SIGHUP, action)


class Arrivals:
    """Tells when there is something to read from an open file, pipe or terminal, or when it has ended.

    Where nothing can be waited for but sockets, a thread reads ahead, one block.
    """

    def __init__(self, handle: int, block: int) -> None:
        self._handle, self._block = handle, block
        self._thread: Thread | None = None
        self._ahead: bytes | None = None

    def wait(self, seconds: float) -> bool:
        """Whether `read` would return at once, now or within so many seconds."""
        if OPEN_FILES_MOVE:
            from select import select

            return bool(select([self._handle], [], [], seconds)[0])
        if self._thread is None:
            self._thread = Thread(target=self._read_ahead, daemon=True)
            self._thread.start()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def read(self) -> bytes:
        """The next bytes; none at the end."""
        if self._thread is None:
            return os.read(self._handle, self._block)
        self._thread.join()
        self._thread, block = None, self._ahead
        return block or b""

    def _read_ahead(self) -> None:
        self._ahead = None
        with suppress(OSError):  # a pipe whose writer is gone has ended
            self._ahead = os.read(self._handle, self._block)


@contextmanager
def terminal_keys(handle: int) -> Iterator[None]:
    """Let a terminal hand over keys at once and not show them; as it was before, whatever happens."""
    try:
        import termios
        import tty
    except ImportError:  # `read_keystroke` asks the console itself
        yield
        return
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def read_keystroke(handle: int, *, terminal: bool) -> bytes | None:
    """The next byte of stdin, or the bytes of the next key of a console: b"" at the end, None for an arrow key."""
    if terminal and fcntl is None and msvcrt is not None:
        key = str(msvcrt.getwch())
        if key in ("\x00", "\xe0"):  # an arrow or a function key: two codes
            msvcrt.getwch()
            return None
        if key == "\x03":
            raise KeyboardInterrupt
        return b"" if key == "\x1a" else key.encode("utf-8", "replace")
    return os.read(handle, 1)


def more_keys(handle: int, seconds: float) -> bool:
    """Whether another byte follows at once, as in the sequence of an arrow key; never on a console."""
    if fcntl is None:
        return False
    from select import select

    return bool(select([handle], [], [], seconds)[0])


def use_utf8() -> None:
    """Print UTF-8 wherever output goes, also where the system's own encoding is another, as on Windows."""
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
        if fcntl is None and encoding != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
