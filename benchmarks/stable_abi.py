"""The reason why wheels are built for each Python: the cost of reading str through the stable ABI.

python benchmarks/stable_abi.py [--repeats N]

The kernel reads the characters of a str in place. The stable ABI has no such access; what it has,
PyUnicode_AsUTF8AndSize, gives ASCII texts at once, and writes every other text out as UTF-8 first. Its cost is that of
str.encode here, which does the same work; and the copy would live as long as the str.
"""

import argparse

from timing import processor_seconds

from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule


def best_seconds(function, repeats):
    """The least processor time of some calls: other programs only add to it."""
    times = []
    for _ in range(repeats):
        start = processor_seconds()
        function()
        times.append(processor_seconds() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    for name in ("20newsgroups", "1150haber"):
        texts = list(load(name).texts)
        wide = [text for text in texts if not text.isascii()]
        counter = TextCounter(TokenRule(), threads=1)
        counter.count(texts, grow=True)
        direct = best_seconds(lambda texts=texts, counter=counter: counter.count(texts), repeats)
        encoding = best_seconds(lambda wide=wide: [text.encode("utf-8", "surrogatepass") for text in wide], repeats)
        copies = sum(len(text.encode("utf-8", "surrogatepass")) for text in wide) / 1e6
        print(
            f"{name}: {len(wide) / len(texts):.0%} of the texts are not ASCII; counting {direct * 1000:.1f} ms, "
            f"writing them as UTF-8 {encoding * 1000:.1f} ms more (+{encoding / direct:.0%}), {copies:.1f} MB kept"
        )


if __name__ == "__main__":
    main()
