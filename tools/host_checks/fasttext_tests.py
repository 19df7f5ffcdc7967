"""Run fastText's own Python tests with the module `fasttext` that is installed; in the environment of `make hosts`.

    python fasttext_tests.py SOURCE [ORIGINAL]

SOURCE is the unpacked source archive of fastText. With ORIGINAL, a folder with fastText's own module, that trains the
word vectors, and the installed module loads its files; without it, tests that train word vectors fail.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import fasttext

EXPECTED = {False: 45, True: 83}
TRAIN = """
import json, sys, fasttext
fasttext.train_unsupervised(**json.loads(sys.argv[1])).save_model(sys.argv[2])
"""


def training_by(original):
    """`train_unsupervised` of fastText in another process; each file is renamed over the one before."""
    folder = tempfile.mkdtemp()

    def train_unsupervised(**options):
        new, path = f"{folder}/new.bin", f"{folder}/vectors.bin"
        environment = {**os.environ, "PYTHONPATH": original, "MALLOC_PERTURB_": "255"}
        finished = subprocess.run(
            [sys.executable, "-c", TRAIN, json.dumps(options), new],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if finished.returncode:
            raise ValueError(finished.stderr[-300:])
        Path(new).replace(path)
        return fasttext.load_model(path)

    return train_unsupervised


def main(source, original=""):
    """Print how many tests pass, and why the others do not; 0 if as many pass as expected."""
    warnings.simplefilter("ignore")
    random.seed(0)
    fasttext.__path__.append(str(Path(source) / "python" / "fasttext_module" / "fasttext"))  # for fasttext.tests
    if original:
        fasttext.train_unsupervised = training_by(str(Path(original).resolve()))
    from fasttext.tests import gen_unit_tests

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(gen_unit_tests())
    with Path(os.devnull).open("w") as quiet:
        result = unittest.TextTestRunner(stream=quiet).run(suite)
    bad = result.failures + result.errors
    failed = {test.id().rpartition(".")[2]: why.strip().splitlines()[-1] for test, why in bad}
    reasons = {}
    for name, reason in sorted(failed.items()):
        reasons.setdefault(reason[:150], []).append(name)
    passed = result.testsRun - len(failed)
    trained = "fastText trains the word vectors" if original else "without fastText"
    print(f"fastText's own tests, {trained}: {passed} of {result.testsRun} pass, {EXPECTED[bool(original)]} expected")
    for reason, names in reasons.items():
        print(f"  {len(names)}: {reason}")
    return int(passed < EXPECTED[bool(original)])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
