"""Exact unlearning: the model after forgetting equals the one that never saw the documents."""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets

texts, queues = load_tickets().texts, [queue for (queue,) in load_tickets().labels]
before = TextClassifier("maxent").fit(texts, queues).predict_proba(texts[800:])
forgot = TextClassifier("maxent").fit(texts, queues).forget(texts[800:], queues[800:])
never_saw = TextClassifier("maxent").fit(texts[:800], queues[:800])
with TemporaryDirectory() as folder:
    forgot.save(Path(folder) / "forgot.model")
    never_saw.save(Path(folder) / "never_saw.model")
    one, other = (Path(folder) / "forgot.model").read_bytes(), (Path(folder) / "never_saw.model").read_bytes()
print(f"{len(texts) - 800} documents forgotten; the files are", "equal, byte for byte" if one == other else "different")

clean = never_saw.predict_proba(texts[800:])
plt.plot(clean.max(axis=1), before.max(axis=1), "x", label="before forgetting")
plt.plot(clean.max(axis=1), forgot.predict_proba(texts[800:]).max(axis=1), ".", label="after forgetting")
plt.xlabel("highest probability, by the model that never saw the text")
plt.ylabel("by the model that learnt it")
plt.legend()
plt.show()
