"""Reading word vectors: 400,000 words of 300 numbers as GloVe writes them, all of them and the first 100,000.

python benchmarks/vectors_reading.py [--words 400000] [--dims 300]

The file is made in a temporary folder (about 1 GB). Seconds and processor seconds, the file in the system's cache.
Target: all of it in at most 10 s.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

BLOCK = 2_000  # words that are written at a time


def write_vectors(path, n_words, n_dims):
    """Words and numbers of five decimals."""
    random = np.random.default_rng(0)
    texts = np.array([f"{value:.5f}" for value in random.normal(scale=0.4, size=1 << 16)])
    with path.open("w") as file:
        for start in range(0, n_words, BLOCK):
            rows = texts[random.integers(0, len(texts), (min(BLOCK, n_words - start), n_dims))]
            file.writelines(f"word{start + number} {' '.join(row)}\n" for number, row in enumerate(rows.tolist()))


def timed(work):
    """What `work` gives, its seconds and its processor seconds."""
    start, processor = time.perf_counter(), time.process_time()
    return work(), time.perf_counter() - start, time.process_time() - processor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dims", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        from unnaive.io.vectors import cached_vectors
        from unnaive.io.vectors.word_vector_files import read_named_vectors

        path = Path(folder) / "glove.txt"
        write_vectors(path, arguments.words, arguments.dims)
        (words, _), *all_of_it = timed(lambda: read_named_vectors(path))
        first, *some = timed(lambda: cached_vectors.read_vectors(path))
        cached_vectors._read_known.cache_clear()
        again, *cached = timed(lambda: cached_vectors.read_vectors(path))
        print(f"{path.stat().st_size / 1e6:,.0f} MB of {len(words):,} words × {arguments.dims}")
        rows = {"all words": all_of_it, f"the first {len(first.words):,}, in 8 bits": some, "from the cache": cached}
        for what, (seconds, processor) in rows.items():
            print(f"{what}: {seconds:.2f} s, {processor:.2f} s of processor")
        print(f"wanted at most 10 s of all: {'met' if all_of_it[0] <= 10 else 'not met'}; the same: {first == again}")


if __name__ == "__main__":
    main()
