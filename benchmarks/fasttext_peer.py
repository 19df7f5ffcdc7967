"""Models that fastText itself trains, for the benchmarks that compare with it."""

import json
import os
import subprocess
import sys

TRAIN = """
import json, sys
import fasttext
train, out, settings, stored = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
model = fasttext.train_supervised(train, thread=1, verbose=0, **settings)
if stored is not None:
    model.quantize(**stored)
model.save_model(out)
"""


def train_fasttext(path, train, settings, quantise=None):
    """Train on a file of labelled lines and save; in a process of its own, whose memory glibc fills with zeros.

    fastText 0.9.2 reads memory that it has not set, and so stops with "Encountered NaN" at random.
    """
    arguments = [str(train), str(path), json.dumps(settings), json.dumps(quantise)]
    environment = os.environ | {"MALLOC_PERTURB_": "255"}  # blocks are filled with the complement of this byte
    done = subprocess.run([sys.executable, "-c", TRAIN, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"fastText's training failed: {done.stderr.strip().splitlines()[-1]}")
