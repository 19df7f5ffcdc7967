"""The differences between operating systems: locks, replacing open files, cores, terminals; memory is in system_memory.

No other module imports what only some systems have (`fcntl`, `msvcrt`, `resource`, `termios`, …); a test checks this.
The code tests for features, not for the name of the system, and falls back to a portable method.
Windows differs in three ways that matter here: an open or memory-mapped file cannot be replaced or removed; a lock also
prevents reading; and `select` supports only sockets.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from unnaive.base.errors import UnnaiveWarning

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

OPEN_FILES_MOVE = fcntl is not None  # whether an open file may be renamed, replaced and removed
PATIENCE = 5.0  # seconds to wait for a file held by another process, such as a virus scanner, before raising an error
NAP = 0.02  # seconds between two attempts
LOCKED_BYTE = 1 << 40  # beyond the end of any file, since other processes cannot read a locked byte
# flags for every os.open: not inherited by other programs, no newline translation
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
READ_AT_ONCE = 1 << 30  # bytes; one call to the system reads less than 2 GiB
MANY_DESCRIPTORS = 1 << 16  # assumed where the system has no limit or does not report it
SCRATCH = ".unnaive-"  # prefix of the names of temporary folders


def read_at(handle: int, start: int, size: int) -> bytes:
    """Bytes of an open file, fewer at its end, without moving its position, which other processes may share."""
    parts = []
    while size and (part := os.pread(handle, min(size, READ_AT_ONCE), start)):
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def count_cores() -> int:
    """The number of cores that this process may use, or of the machine if the system does not say.

    >>> 1 <= count_cores() <= os.cpu_count()
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def count_descriptors() -> int:
    """The number of files and connections that this process may have open."""
    try:
        import resource
    except ImportError:  # no such limit
        return MANY_DESCRIPTORS
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MANY_DESCRIPTORS if most == resource.RLIM_INFINITY else most


def is_root() -> bool:
    """Whether this process runs as root; False where there is no such user."""
    return bool(user_id() == 0)


def user_id() -> int | None:
    """The user's numeric id; None where users have none."""
    geteuid = getattr(os, "geteuid", None)
    return None if geteuid is None else int(geteuid())


def lock_file(handle: int, *, wait: bool = True) -> None:
    """Lock an open file exclusively until it is closed; without `wait`, raise BlockingIOError if another process holds
    it.

    Systems with neither `fcntl` nor `msvcrt` have no other processes to share files with.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif msvcrt is not None:
        _lock_byte(handle, wait)


def _lock_byte(handle: int, wait: bool) -> None:
    """Lock one byte far beyond the end; the file position does not change."""
    before = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        while True:
            os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
            try:
                return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[no-any-return]
            except OSError as problem:
                if problem.errno != errno.EACCES:
                    raise  # not locked by another process: waiting would never end
                if not wait:
                    raise BlockingIOError(problem.errno, "another process has locked the file") from problem
            time.sleep(NAP)
    finally:
        os.lseek(handle, before, os.SEEK_SET)


@contextmanager
def locked_for_replacing(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file that is replaced inside the block; other processes wait, or get an error without `wait`.

    Where open files can be replaced, the lock is on the file that is at `path` once the lock is held, since another
    writer may have renamed a new one there while we waited. Elsewhere the lock is on a second file beside it, which is
    not removed.
    """
    if not OPEN_FILES_MOVE:
        with path.open("rb"):  # raises if the file is missing or unreadable
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
    """Open and lock the file `.lock` beside `path`, readable only by its owner; closing it releases the lock."""
    file = os.fdopen(os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR | PLAIN, 0o600), "r+b")
    try:
        lock_file(file.fileno(), wait=wait)
    except BaseException:
        file.close()
        raise
    return file


def replace_file(source: Path, target: Path) -> None:
    """Rename `source` to `target`, replacing it; if readers hold the target, retry for a few seconds."""
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
    """Rename `source` to `target`; raise FileExistsError if `target` exists, where `replace` would overwrite it."""
    if OPEN_FILES_MOVE:
        os.link(source, target)
        source.unlink()
    else:
        source.rename(target)  # on Windows this fails if the target exists


def flush_folder(folder: Path) -> None:
    """Make a rename in the folder durable, as far as the folder can be opened and flushed.

    The rename is done, so an error would say that it is not. A disk that reports an error is named in a warning. Where
    folders cannot be opened, the system makes renames durable itself.
    """
    if not OPEN_FILES_MOVE:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # such as a folder that may be written and not read
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # a file system that cannot flush folders
            warnings.warn(
                f"what was written in {folder} is there, but the disk has not confirmed it ({problem.strerror})",
                UnnaiveWarning,
                stacklevel=3,
            )
    finally:
        os.close(handle)


def keep_owner(handle: int, owner: int, group: int) -> bool:
    """Set user and group of an open file; return whether that succeeded (True where files have no owner)."""
    change = getattr(os, "fchown", None)
    try:
        if change is not None:
            change(handle, owner, group)
    except OSError:
        return False
    return True


def keep_mode(handle: int, mode: int) -> None:
    """Set the permissions of an open file, where files have permissions."""
    change = getattr(os, "fchmod", None)
    if change is not None:
        with suppress(OSError):
            change(handle, mode)


def map_or_read(file: BinaryIO) -> Any:
    """Memory-map an open file, or copy it where mapped files cannot be replaced; raise ValueError if it is empty."""
    if OPEN_FILES_MOVE:
        import mmap

        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content = file.read()
    if not content:
        raise ValueError("an empty file cannot be memory-mapped")
    return content


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder in `parent`, or in the system's temporary folder, and remove it at the end.

    Where mapped files cannot be removed, those that arrays still use are removed when the program ends.
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
    """Remove as much of a folder as possible; return whether everything is gone."""
    import gc
    import shutil

    gc.collect()  # arrays in reference cycles also keep files open
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


@contextmanager
def file_in_memory(content: bytes) -> Iterator[str]:
    """The path of a file with these bytes: in memory if possible, since a service may not be able to write any."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").exists():
        handle = os.memfd_create("content")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{handle}"
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "content"
        path.write_bytes(content)
        yield str(path)


def at_fork(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call `before` on every fork, then `after` in both processes; does nothing on systems without fork."""
    register = getattr(os, "register_at_fork", None)
    if register is not None:
        register(before=before, after_in_parent=after, after_in_child=after)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C while child processes start, so that they ignore it even during imports.

    This process gets it afterwards.
    """
    import signal

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
    """Make an event loop call `action` on SIGHUP; does nothing where there is no SIGHUP, or outside the main thread."""
    import signal

    with suppress(RuntimeError, ValueError, NotImplementedError, AttributeError):
        loop.add_signal_handler(signal.SIGHUP, action)


class Arrivals:
    """Tells when an open file, pipe or terminal has data to read or has ended.

    Where `select` supports only sockets, a thread reads ahead by one block.
    """

    def __init__(self, handle: int, block: int) -> None:
        self._handle, self._block = handle, block
        self._thread: Thread | None = None
        self._ahead: bytes | None = None

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether `read` would not block."""
        if OPEN_FILES_MOVE:
            from select import select

            return bool(select([self._handle], [], [], seconds)[0])
        if self._thread is None:
            self._thread = Thread(target=self._read_ahead, daemon=True)
            self._thread.start()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def read(self) -> bytes:
        """The next bytes; empty at the end of the input."""
        if self._thread is None:
            return os.read(self._handle, self._block)
        self._thread.join()
        self._thread, block = None, self._ahead
        return block or b""

    def _read_ahead(self) -> None:
        self._ahead = None
        with suppress(OSError):  # a pipe whose writer has closed it is at its end
            self._ahead = os.read(self._handle, self._block)


@contextmanager
def terminal_keys(handle: int) -> Iterator[None]:
    """Switch a terminal to unbuffered input without echo inside the block, and restore it afterwards."""
    try:
        import termios
        import tty
    except ImportError:  # on Windows `read_keystroke` asks the console
        yield
        return
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def read_keystroke(handle: int, *, terminal: bool) -> bytes | None:
    """The next byte of stdin, or the next key of a Windows console: b"" at the end, None for an arrow key."""
    if terminal and fcntl is None and msvcrt is not None:
        key = str(msvcrt.getwch())
        if key in ("\x00", "\xe0"):  # an arrow or function key sends two codes
            msvcrt.getwch()
            return None
        if key == "\x03":
            raise KeyboardInterrupt
        return b"" if key == "\x1a" else key.encode("utf-8", "replace")
    return os.read(handle, 1)


def more_keys(handle: int, seconds: float) -> bool:
    """Whether another byte follows immediately, as in the escape sequence of an arrow key.

    False on a Windows console.
    """
    if fcntl is None:
        return False
    from select import select

    return bool(select([handle], [], [], seconds)[0])


def use_utf8() -> None:
    """Write UTF-8 to stdout and stderr, also where the system's encoding is another, as on Windows."""
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
        if fcntl is None and encoding != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


def replace_closed_streams() -> None:
    """Use the null device for stdin, stdout and stderr if the caller has closed them; Python has None there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115, open until the end


def buffer_stdout() -> None:
    """Put a buffer before stdout if it has none, as with PYTHONUNBUFFERED.

    Without a buffer, Python writes once and ignores how much of it a full disk has taken, so the rest would be lost
    without an error.
    """
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        buffered = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(buffered, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)
