"""A system that is not POSIX, as far as Python code can tell: run as a script, it hides things and then runs another.

    python other_system.py [--no-native] [--locks] SCRIPT ARGUMENTS…

Gone are the modules and the functions of `os` and `signal` that Windows has not, folders cannot be opened, /proc is not
there, and a file that this process has open or mapped cannot be replaced, renamed or removed. With --locks there is a
module `msvcrt` whose `locking` works; with --no-native no native module of unnaive can be imported.
"""

import builtins
import importlib.abc
import io
import os
import runpy
import shutil
import signal
import sys
import types
from typing import Any

ABSENT_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix", "readline", "select"}
ABSENT_FUNCTIONS = """
    fork forkpty register_at_fork sched_getaffinity sched_setaffinity geteuid getuid getegid getgid fchmod fchown chown
    lchown pread pwrite posix_fadvise posix_fallocate sysconf statvfs fstatvfs fdatasync mkfifo mknod killpg setsid
    getpgid getsid sendfile copy_file_range memfd_create eventfd getloadavg nice uname
    O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY O_TMPFILE O_SYNC O_DSYNC
"""
ABSENT_SIGNALS = "SIGHUP SIGKILL SIGALRM SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD pthread_sigmask setitimer sigwait alarm"
NATIVE = {"_kernel", "_rows", "_elementary", "_products", "_gram", "_fasttext", "_dual", "_scratch"}


class Hidden(importlib.abc.MetaPathFinder):
    """Modules that cannot be found: native ones, and for unnaive those that the system has not."""

    def __init__(self, native: bool) -> None:
        self.native = native

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        ours = name.startswith("unnaive.") and name.rpartition(".")[2] in NATIVE
        if ours and not self.native:
            raise ModuleNotFoundError(f"{name} is hidden", name=name)


def hide_modules(native: bool) -> None:
    sys.meta_path.insert(0, Hidden(native))
    real = builtins.__import__

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        importer = (globals or {}).get("__name__", "")
        if level == 0 and name in ABSENT_MODULES and importer.partition(".")[0] == "unnaive":
            raise ModuleNotFoundError(f"there is no {name} on this system", name=name)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = importing  # type: ignore[assignment]


def hide_functions() -> None:
    for module, names in ((os, ABSENT_FUNCTIONS), (signal, ABSENT_SIGNALS)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)


def held_files(stat: Any, listdir: Any, read: Any) -> set[tuple[int, int]]:
    """Device and inode of what this process has open or mapped."""
    held = set()
    for handle in listdir("/proc/self/fd"):
        try:
            about = stat(int(handle))
        except OSError:
            continue
        held.add((about.st_dev, about.st_ino))
    with read("/proc/self/maps") as lines:
        for line in lines:
            _, _, _, device, inode, *_ = line.split()
            major, minor = (int(part, 16) for part in device.split(":"))
            held.add((os.makedev(major, minor), int(inode)))
    return held


def hold_open_files() -> None:
    """Refuse to replace or remove files that are in use, to rename over others, and to open folders."""
    stat, listdir, read, opening = os.stat, os.listdir, io.open, os.open
    shutil._use_fd_functions = False  # type: ignore[attr-defined]

    def check_free(path: Any) -> None:
        try:
            about = stat(path, follow_symlinks=False)
        except (OSError, ValueError):
            return
        if (about.st_dev, about.st_ino) in held_files(stat, listdir, read):
            raise PermissionError(13, "the file is in use by this process", str(path))

    def guarded(function: Any, *, over: bool = True) -> Any:
        def call(path: Any, *others: Any, **options: Any) -> Any:
            check_free(path)
            for other in others:
                check_free(other)
                if not over and os.path.lexists(other):
                    raise FileExistsError(17, "there is such a file", str(other))
            return function(path, *others, **options)

        return call

    def no_folders(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        if os.path.isdir(path) or str(path).startswith("/proc"):  # noqa: PTH112
            raise PermissionError(13, "a folder cannot be opened", str(path))
        return opening(path, flags, mode, **options)

    def no_proc(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file).startswith("/proc"):
            raise FileNotFoundError(2, "there is no /proc", str(file))
        return read(file, *arguments, **options)

    os.replace, os.unlink, os.remove = guarded(os.replace), guarded(os.unlink), guarded(os.remove)
    os.rename = guarded(os.rename, over=False)
    os.open, io.open, builtins.open = no_folders, no_proc, no_proc  # type: ignore[assignment]


def add_locks() -> None:
    """A module `msvcrt` whose locks are those of POSIX on a range of bytes, between processes."""
    import errno
    import fcntl

    def locking(handle: int, mode: int, count: int) -> None:
        is_read_only = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        kind = fcntl.LOCK_SH if is_read_only else fcntl.LOCK_EX  # Windows locks such files too, POSIX only shared
        try:
            fcntl.lockf(handle, kind | fcntl.LOCK_NB, count, 0, os.SEEK_CUR)
        except BlockingIOError as problem:
            raise PermissionError(errno.EACCES, "locked") from problem

    module = types.ModuleType("msvcrt")
    module.locking, module.LK_NBLCK = locking, 2  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = module


def main() -> None:
    arguments = sys.argv[1:]
    switches = {"--no-native", "--locks"} & set(arguments)
    script, *rest = [word for word in arguments if word not in switches]
    import multiprocessing  # noqa: F401
    import subprocess  # noqa: F401
    import tempfile  # noqa: F401

    import scipy.sparse  # noqa: F401  # numpy and scipy come from elsewhere: what they need is there
    import typer  # noqa: F401

    if "--locks" in switches:
        add_locks()
    hide_modules(native="--no-native" not in switches)
    hide_functions()
    hold_open_files()
    sys.argv = [script, *rest]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
