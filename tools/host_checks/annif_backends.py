"""Annif's backends `fasttext` and `http` on a generated corpus: trained, listed, evaluated, asked for suggestions.

    python annif_backends.py UNNAIVE

UNNAIVE is the command of an environment that can serve; it trains on the same corpus and answers the backend `http`.
"""

import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

TOPICS = {
    "cat": "whisker purr kitten feline", "dog": "bark leash puppy canine", "car": "engine wheel brake motor",
    "law": "court judge vote statute", "sea": "wave ship harbour tide",
}  # fmt: skip
URI = "http://example.org/"
PROJECTS = """
[own]
name=own
language=en
backend=fasttext
analyzer=simple
vocab=topics
limit=5
dim=20
lr=0.5
loss=hs

[http]
name=http
language=en
backend=http
vocab=topics
endpoint=http://127.0.0.1:{port}/v1/projects/corpus/suggest
"""
PUNKT = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")  # NLTK's sentence splitter
LEAST = 0.95  # precision at 1 on the test documents
PATIENCE = 120  # seconds until the service answers


def corpus(n_docs, chance):
    """Lines of Annif's corpora: words of one or two topics, and their URIs."""
    for _ in range(n_docs):
        topics = chance.sample(sorted(TOPICS), chance.choice([1, 1, 2]))
        words = [chance.choice(TOPICS[topic].split()) for topic in topics for _ in range(6)] + ["the", "of", "and"]
        chance.shuffle(words)
        yield " ".join(words) + "\t" + " ".join(f"<{URI}{topic}>" for topic in topics) + "\n"


def write_files(folder, port):
    """The corpora, the vocabulary, the projects, and an empty sentence splitter for NLTK."""
    chance = random.Random(0)  # noqa: S311  # no secret
    (folder / "train.tsv").write_text("".join(corpus(200, chance)))
    (folder / "test.tsv").write_text("".join(corpus(40, chance)))
    (folder / "topics.tsv").write_text("".join(f"<{URI}{topic}>\t{topic}\n" for topic in TOPICS))
    (folder / "projects.cfg").write_text(PROJECTS.format(port=port))
    punkt = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in PUNKT:
        (punkt / name).touch()


class Checks:
    """Named checks, each printed with what failed."""

    def __init__(self):
        self.passed, self.all = 0, 0

    def __call__(self, name, passed, seen):  # noqa: D102  # as the class says
        self.all += 1
        self.passed += bool(passed)
        if not passed:
            print(f"  {name}: {str(seen)[-400:]}")


def wait_for(port):
    """Wait until the service is ready."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()  # ours
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def main(unnaive):
    """Print how many checks pass; 0 if all do."""
    folder, checks = Path(tempfile.mkdtemp()), Checks()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write_files(folder, port)
    environment = {**os.environ, "NLTK_DATA": str(folder / "nltk"), "PYTHONWARNINGS": "ignore"}
    annif = str(Path(sys.executable).parent / "annif")

    def run(*arguments, text=""):
        finished = subprocess.run(
            arguments, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False
        )
        return finished.stdout + (finished.stderr if finished.returncode else "")

    def precision(project):
        printed = run(annif, "eval", project, "test.tsv")
        found = re.search(r"^Precision@1:\s+([\d.]+)", printed, re.MULTILINE)
        return (float(found[1]) if found else 0.0), printed

    def check_backend(project):
        value, printed = precision(project)
        checks(f"{project}: precision at 1 of {value}", value >= LEAST, printed)
        listed = re.search(rf"^{project} .*$", run(annif, "list-projects"), re.MULTILINE)
        checks(f"{project}: listed as trained, with a time", listed and re.search("True +20", listed[0]), listed)
        best = run(annif, "suggest", project, text="a purr of the kitten\n").split("\n")[0]
        checks(f"{project}: suggests the topic", best.startswith(f"<{URI}cat>\tcat\t"), best)
        return value

    run(annif, "load-vocab", "-L", "en", "topics", "topics.tsv")
    printed = run(annif, "train", "own", "train.tsv")
    checks("fasttext: trains", "Error" not in printed, printed)
    own = check_backend("own")
    printed = run(unnaive, "train", "train.tsv", "--format", "annif", "-m", "maxent", "-o", "corpus.model")
    checks("http: trains on Annif's corpus", (folder / "corpus.model").exists(), printed)
    with subprocess.Popen(
        [unnaive, "serve", "corpus.model", "--port", str(port)], cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as service:  # fmt: skip
        try:
            wait_for(port)
            http = check_backend("http")
        finally:
            service.terminate()
    print(f"Annif: {checks.passed} of {checks.all} checks pass {json.dumps({'P@1': {'fasttext': own, 'http': http}})}")
    return int(checks.passed < checks.all)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
