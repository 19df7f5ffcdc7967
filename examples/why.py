"""Show which words decided: the evidence of each term of a text, and the strongest terms of two classes."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets

train = load_tickets().part("train")
model = TextClassifier("complement").fit(train.texts, [queue for (queue,) in train.labels])

why = model.explain("My card was charged twice, who do I ask for a refund?")
print(f"{why.label}:", ", ".join(f"{one.term} {one.value:+.2f}" for one in why.evidence[:4]))

for queue in ("access", "integration"):
    print(f"{queue} is about", ", ".join(term for term, weight in model.top_terms(queue, 5)))

evidence = sorted(why.evidence, key=lambda one: one.value)
colours = ["C0" if one.value > 0 else "C1" for one in evidence]
plt.barh([one.term for one in evidence], [one.value for one in evidence], color=colours)
plt.xlabel(f"evidence for {why.label}, above the mean of the classes")
plt.show()
