"""Which words decided: the strongest terms of a text, and of two classes."""

from unnaive import TextClassifier
from unnaive.reading.tickets import load_tickets

train = load_tickets().part("train")
model = TextClassifier("complement").fit(train.texts, [queue for (queue,) in train.labels])

why = model.explain("My card was charged twice, who do I ask for a refund?")
print(f"{why.label}:", ", ".join(f"{one.term} {one.value:+.2f}" for one in why.evidence[:4]))

for queue in ("access", "integration"):
    print(f"{queue} is about", ", ".join(term for term, weight in model.top_terms(queue, 5)))
