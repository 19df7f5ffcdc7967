"""Exact unlearning: the model after forgetting equals the one that never saw the documents."""

from pathlib import Path
from tempfile import TemporaryDirectory

from unnaive import TextClassifier
from unnaive.reading.tickets import load_tickets

corpus = load_tickets()
texts, queues = list(corpus.texts), [queue for (queue,) in corpus.labels]

forgot = TextClassifier("nbsvm").fit(texts, queues).forget(texts[800:], queues[800:])
never_saw = TextClassifier("nbsvm").fit(texts[:800], queues[:800])
with TemporaryDirectory() as folder:
    forgot.save(Path(folder) / "forgot.model")
    never_saw.save(Path(folder) / "never_saw.model")
    one, other = (Path(folder) / "forgot.model").read_bytes(), (Path(folder) / "never_saw.model").read_bytes()
print(f"{len(texts) - 800} documents forgotten; the files are", "equal, byte for byte" if one == other else "different")
