"""Arrays in files instead of memory: the same numbers, within a limit that arrays in memory do not keep."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import random_array

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.system_memory import find_resident_bytes, is_in_memory
from unnaive.models.svm.solver import softmax, squared_hinge
from unnaive.scaleout import resident_pages, scratch
from unnaive.scaleout.scratch import arrays_on_disk

pytestmark = [
    pytest.mark.skipif(scratch.NATIVE is None, reason="the native modules are not built"),
    pytest.mark.skipif(sys.platform != "linux", reason="maps and limits of a process are those of Linux"),
]


def mapped_files() -> list[str]:
    """The nameless files that this process has mapped."""
    with Path("/proc/self/maps").open() as lines:
        return [line for line in lines if "(deleted)" in line]


def test_large_arrays_lie_in_files_and_small_ones_do_not(tmp_path):
    before = len(mapped_files())
    with arrays_on_disk(tmp_path, least=1 << 16):
        large, small = np.arange(1 << 13, dtype=np.int64), np.arange(100)
        assert len(mapped_files()) == before + 1
        assert str(tmp_path) in mapped_files()[-1]
    assert large.sum() == (1 << 13) * ((1 << 13) - 1) // 2
    assert small.sum() == 4950
    del large
    assert len(mapped_files()) == before
    assert not list(tmp_path.iterdir())


def test_arrays_outlive_the_block_and_grow_in_it(tmp_path):
    with arrays_on_disk(tmp_path, least=1000):
        grown = np.ones(1000)
        grown.resize(5000, refcheck=False)
        again = np.zeros(1000)  # room that was let go and is used again is zero all the same
        again += 1
        del again
        zeros = np.zeros(1000)
    assert grown.sum() == 1000
    assert not zeros.any()
    grown.resize(10, refcheck=False)
    assert grown.sum() == 10


def test_other_threads_keep_their_memory(tmp_path):
    found = []
    with arrays_on_disk(tmp_path, least=1000):
        before = len(mapped_files())
        thread = threading.Thread(target=lambda: found.append(np.ones(10_000)))
        thread.start()
        thread.join()
        assert len(mapped_files()) == before
    assert found[0].sum() == 10_000


@pytest.mark.parametrize("single", [np.float32, np.float64])
def test_solvers_give_the_same_bits(single, tmp_path):
    Z = random_array((300, 200), density=0.1, format="csr", rng=np.random.default_rng(0)).astype(single)
    targets = np.arange(300) % 6
    Y = np.eye(6)[targets]
    solvers = (lambda: squared_hinge(Z, Y, n_jobs=2), lambda: softmax(Z, targets, 6, C=10.0))
    for solve in solvers:
        expected = solve()
        with arrays_on_disk(tmp_path, least=1):
            found = solve()
        for name in ("weights", "bias", "objective", "gap"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_a_folder_without_room_is_refused_with_a_sentence(tmp_path):
    with (
        pytest.raises(
            UnnaiveError, match="no-such has too little space for the temporary files of training; free some space"
        ),
        arrays_on_disk(tmp_path / "no-such", least=1000),
    ):
        np.ones(1000)
    assert np.ones(1000).sum() == 1000  # and all is as before


def test_memory_that_is_short_is_not_said_to_be_the_disk(tmp_path, monkeypatch):
    def fail():
        with arrays_on_disk(tmp_path, least=1000):
            raise MemoryError

    with pytest.raises(UnnaiveError, match=r"^there is not enough memory for training, even with its arrays on disk"):
        fail()
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    with pytest.raises(
        UnnaiveError, match="has too little space for the temporary files of training; free some space on that disk"
    ):
        fail()


# X has 2 million entries, 16 MB; a learner makes several copies of 24 MB of it. 40 MB more than what the imports took
# are enough for weights, threads and small arrays, and not for two of the copies.
LIMITED = """
import resource, sys
from contextlib import nullcontext
import numpy as np
from scipy.sparse import csr_array
import unnaive.models.svm.nbsvm, unnaive.models.maxent.learner, unnaive.scaleout._scratch
from unnaive import MaxEnt, NBSVM
from unnaive.scaleout.scratch import arrays_on_disk
def limit(more):
    with open("/proc/self/status") as lines:
        used = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
model, folder = sys.argv[1:3]
model = {"nbsvm": NBSVM(n_jobs=1, max_iter=3), "maxent": MaxEnt(n_jobs=1, max_iter=2)}[model]
with arrays_on_disk(folder):
    indices = np.tile(np.arange(0, 2000, 20, dtype=np.int32), 20_000)
    indices += np.repeat(np.arange(20_000, dtype=np.int32) % 20, 100)
    X = csr_array((np.ones(len(indices), np.int32), indices, np.arange(0, len(indices) + 1, 100)), shape=(20_000, 2000))
    Y = csr_array((np.ones(20_000, np.int64), np.arange(20_000) // 7 % 3, np.arange(20_001)))
limit(40 << 20)
try:
    with arrays_on_disk(folder) if sys.argv[3] == "disk" else nullcontext():
        model.learn(X, Y)
    print("learnt")
except MemoryError:
    print("too large")
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["nbsvm", "maxent"])
def test_learners_need_no_memory_for_copies_of_the_matrix(model, tmp_path):
    def learn(where: str) -> str:
        words = [sys.executable, "-W", "ignore", "-c", LIMITED, model, str(tmp_path), where]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    assert learn("memory") == "too large"
    assert learn("disk") == "learnt"


def test_pages_of_files_are_taken_out_of_memory_and_keep_their_numbers(tmp_path):
    """Beyond the limit what lies in files is no memory of the process, and is the same when it is read again."""
    size = 64 << 20
    np.arange(size // 8, dtype=np.int64).tofile(tmp_path / "map")
    mapped = np.memmap(tmp_path / "map", np.int64, "r")
    with arrays_on_disk(tmp_path):
        array = np.arange(size // 8, dtype=np.int64)
        assert mapped.sum() == array.sum()
        full = find_resident_bytes()
        limit = int((full - 1.5 * size) / resident_pages.SHARE)  # which is kept if both are taken out
        with resident_pages.resident_pages_limited(limit, [mapped[10:]]):
            deadline = time.monotonic() + 60
            while find_resident_bytes() > full - 1.5 * size and time.monotonic() < deadline:
                time.sleep(resident_pages.EVERY)
            assert find_resident_bytes() < full - 1.5 * size
            array += 1
        assert array.sum() == mapped.sum() + len(array)


@pytest.mark.skipif(not is_in_memory("/dev/shm"), reason="/dev/shm is not in memory here")
def test_a_folder_in_memory_is_named(tmp_path):
    with pytest.warns(UnnaiveWarning, match="/dev/shm keeps its files in memory"), arrays_on_disk(Path("/dev/shm")):
        assert np.arange(1 << 18).sum() == (1 << 17) * ((1 << 18) - 1)
    assert not is_in_memory(tmp_path / "absent")
