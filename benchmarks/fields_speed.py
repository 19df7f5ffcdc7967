"""Rate of reading records with two text fields beside that of the two texts joined: 20 Newsgroups, in alternating runs.

python benchmarks/fields_speed.py [--repeats 7] [--jobs 1]

Counting of terms alone, by the kernel, over the same characters; processor time, the median of the ratios.
"""

import argparse
import re
import time

import numpy as np

from unnaive.data.fields.fields import encode_records
from unnaive.papers.collections import load
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.field import read_fields
from unnaive.text.tokens import TokenRule

FIELDS = read_fields(["subject:text", "body:text"])


def main():
    """Print the rates and their ratio, for words and for words and pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    texts = load("20newsgroups").texts
    subjects = [(re.search(r"^Subject:(.*)$", text, re.MULTILINE) or ("", ""))[1].strip() for text in texts]
    bodies = [text.partition("\n\n")[2] for text in texts]
    joined = TextBuffer.of([f"{subject}\n{body}" for subject, body in zip(subjects, bodies, strict=True)])
    records = TextBuffer.of(encode_records({"subject": subjects, "body": bodies}, FIELDS))
    for ngrams in ((1, 1), (1, 2)):
        plain, fields = TokenRule(ngrams=ngrams), TokenRule(ngrams=ngrams, fields=FIELDS)
        times = [
            (count(joined, plain, arguments.jobs), count(records, fields, arguments.jobs))
            for _ in range(arguments.repeats)
        ]
        ratio = float(np.median([before / after for before, after in times]))
        before, after = (len(joined.blob) / 1e6 / np.median(column) for column in zip(*times, strict=True))
        print(
            f"ngrams {ngrams}: texts {before:.0f} MB/s, records {after:.0f} MB/s of processor time, ratio {ratio:.2f}"
        )


def count(texts, rule, threads):
    """Processor seconds of counting the texts."""
    counter = TextCounter(rule, threads=threads)
    start = time.process_time()
    counter.count(texts, grow=True)
    return time.process_time() - start


if __name__ == "__main__":
    main()
