"""Train on the built-in support tickets, measure, predict."""

from unnaive import TextClassifier
from unnaive.reading.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
queues = [queue for (queue,) in train.labels]

model = TextClassifier(budget="fast").fit(train.texts, queues)
print(f"{model.score(test.texts, [queue for (queue,) in test.labels]):.1%} right on {len(test)} new tickets")

for text in ("I was charged twice", "the export has no header", "please reset my password"):
    probability = model.predict_proba([text])[0].max()
    print(f"{model.predict([text])[0]:12} {probability:4.0%}  {text}")
