"""Compare models on the same folds of your own data."""

from unnaive import compare
from unnaive.reading.tickets import load_tickets

train = load_tickets().part("train")
queues = [queue for (queue,) in train.labels]
print(compare(["multinomial", "complement", "nbsvm"], train.texts, queues, folds=3))
