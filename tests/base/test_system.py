"""One module knows what differs between systems; on one that is not POSIX everything gives the same."""

import ast
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unnaive.base import atomic_files, system

SOURCE = Path(system.__file__).parent.parent
SUPPORT = Path(__file__).parent.parent / "support"
SPECIAL_MODULES = {
    "fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "tty", "pty", "select", "ctypes", "winreg", "posix", "mmap",
}  # fmt: skip
SPECIAL_NAMES = {
    "os": {
        "fork", "register_at_fork", "sched_getaffinity", "geteuid", "getuid", "fchmod", "fchown", "chown", "link",
        "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "pread", "pwrite", "posix_fadvise", "sysconf",
        "statvfs", "fdatasync", "mkfifo", "killpg", "setsid", "sendfile", "uname", "getloadavg", "nice",
    },
    "signal": {"SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1", "SIGPIPE", "SIGCHLD", "pthread_sigmask", "setitimer"},
}  # fmt: skip


def special_uses(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in SPECIAL_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if (node.module or "").partition(".")[0] in SPECIAL_MODULES:
                yield node.module
            yield from (alias.name for alias in node.names if alias.name in SPECIAL_NAMES.get(node.module, ()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in SPECIAL_NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc/"):
            yield node.value


def may_use_any(source):
    """Whether a name is in the file at all: most have none, and need not be parsed."""
    names = {*SPECIAL_MODULES, *SPECIAL_NAMES["os"], *SPECIAL_NAMES["signal"], "/proc/"}
    return re.search("|".join(names), source)


@pytest.mark.slow
def test_two_modules_alone_ask_for_what_only_some_systems_have():
    found = {
        path.relative_to(SOURCE).as_posix(): uses
        for path in SOURCE.rglob("*.py")
        if may_use_any(source := path.read_text(encoding="utf-8")) and (uses := set(special_uses(ast.parse(source))))
    }
    assert set(found) == {"base/system.py", "base/system_memory.py"}
    assert {"fcntl", "msvcrt", "termios"} <= found["base/system.py"]
    assert "mmap" in found["base/system_memory.py"]


class OtherLocks:
    """The `locking` of Windows: a byte that somebody else has is an error at once."""

    LK_NBLCK = 2

    def __init__(self):
        self.held, self.tried = {}, threading.Event()

    def locking(self, handle, mode, count):
        assert (mode, count) == (self.LK_NBLCK, 1)
        key = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        if self.held.setdefault(key, handle) != handle:
            self.tried.set()
            raise PermissionError(13, "locked")


@pytest.fixture
def windows(monkeypatch):
    """The locks and the rule about open files of Windows."""
    locks = OtherLocks()
    for module in (system, atomic_files):
        monkeypatch.setattr(module, "OPEN_FILES_MOVE", False)
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", locks)
    return locks


class TestWithoutPosix:
    def test_a_lock_is_behind_the_end_of_the_file_and_leaves_the_place_alone(self, windows, tmp_path):
        with (tmp_path / "file").open("w+b") as file, (tmp_path / "file").open("rb") as other:
            file.write(b"words")
            file.seek(2)
            system.lock_file(file.fileno())
            assert file.read() == b"rds"
            with pytest.raises(BlockingIOError):
                system.lock_file(other.fileno(), wait=False)
            assert other.read() == b"words"

    def test_who_asks_for_a_lock_waits_until_it_is_free(self, windows, tmp_path):
        path = tmp_path / "model"
        path.write_bytes(b"old")
        first, order = system.open_lock(path), []

        def replace():
            with system.locked_for_replacing(path):
                order.append("second")

        thread = threading.Thread(target=replace)
        thread.start()
        assert windows.tried.wait(60)
        order.append("first")
        windows.held.clear()
        first.close()
        thread.join(60)
        assert order == ["first", "second"]

    def test_a_file_that_is_held_is_waited_for_and_then_replaced(self, windows, tmp_path, monkeypatch):
        tries, real = [], Path.replace

        def replace(source, target):
            tries.append(source)
            if len(tries) < 3:
                raise PermissionError(13, "held")
            return real(source, target)

        monkeypatch.setattr(Path, "replace", replace)
        with atomic_files.replacing(tmp_path / "file") as file:
            file.write(b"new")
        assert (tmp_path / "file").read_bytes() == b"new"
        assert (len(tries), list(tmp_path.iterdir())) == (3, [tmp_path / "file"])

    def test_a_file_that_stays_held_is_an_error_and_the_old_one_is_there(self, windows, tmp_path, monkeypatch):
        def replace(source, target):
            raise PermissionError(13, "held")

        (tmp_path / "file").write_bytes(b"old")
        monkeypatch.setattr(system, "PATIENCE", 0)
        monkeypatch.setattr(Path, "replace", replace)
        with pytest.raises(PermissionError), atomic_files.replacing(tmp_path / "file") as file:
            file.write(b"new")
        assert (tmp_path / "file").read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [tmp_path / "file"]

    def test_only_old_temporary_files_are_leftovers(self, windows, tmp_path):
        young, old = tmp_path / ".file.00000000.tmp", tmp_path / ".file.11111111.tmp"
        for path in (young, old):
            path.write_bytes(b"half")
        os.utime(old, (0, 0))
        assert atomic_files.remove_leftovers(tmp_path / "file") == [old]

    def test_what_arrives_in_a_pipe_is_read_by_a_thread(self, windows):
        reading, writing = os.pipe()
        arrivals = system.Arrivals(reading, 100)
        assert not arrivals.wait(0.01)
        os.write(writing, b"line")
        assert arrivals.wait(60)
        assert arrivals.read() == b"line"
        os.close(writing)
        assert arrivals.wait(60)
        assert arrivals.read() == b""
        os.close(reading)


@pytest.mark.parametrize("switches", [[], ["--no-native"], ["--no-native", "--locks"]], ids=" ".join)
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what is open or mapped is read from Linux's /proc")
@pytest.mark.slow
def test_a_model_lives_the_same_life_where_posix_is_hidden(switches, tmp_path):
    def live(*command):
        folder = tmp_path / str(len(command))
        folder.mkdir()
        run = [sys.executable, *command, str(SUPPORT / "life_of_a_model.py"), str(folder)]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        assert not list(folder.glob(".*"))  # neither temporary files nor folders are left
        return printed

    assert live(str(SUPPORT / "other_system.py"), *switches) == live()
