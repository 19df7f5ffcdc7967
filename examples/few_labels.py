"""Few labels, many texts: `nb-em` is naive Bayes that also learns from texts without a label."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
queues, truth = [queue for (queue,) in train.labels], [queue for (queue,) in test.labels]
sizes = [25, 50, 100, 200, 400, len(queues)]

alone, with_unlabelled = [], []
for size in sizes:
    labelled = TextClassifier("multinomial", alpha=0.1).fit(train.texts[:size], queues[:size])
    every = TextClassifier("nb-em").fit(train.texts, [*queues[:size], *[None] * (len(queues) - size)])
    alone.append(labelled.score(test.texts, truth))
    with_unlabelled.append(every.score(test.texts, truth))
    print(f"{size:4} labels: {alone[-1]:.1%}; with the other texts {with_unlabelled[-1]:.1%}")

plt.plot(sizes, alone, "o-", label="labelled texts alone")
plt.plot(sizes, with_unlabelled, "s-", label="and all others without their labels")
plt.xlabel("labelled tickets")
plt.ylabel("accuracy")
plt.legend()
plt.show()
