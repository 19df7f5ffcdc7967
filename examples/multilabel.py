"""A ticket has any number of tags; the thresholds for predicting a tag are tuned on held-out documents."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier, evaluate
from unnaive.io.tickets import load_tickets

train, test = load_tickets("tags").part("train"), load_tickets("tags").part("test")
model = TextClassifier("nbsvm").fit(train.texts, train.labels)

for text in ("the api is down, urgent", "refund for our cancelled subscription", "hello"):
    print(f"{text}: {', '.join(model.predict([text])[0]) or 'no tag'}")

found = evaluate(model, test.texts, test.labels)
print(f"micro F1 {found.measure('micro-f1'):.3f}, macro F1 {found.measure('macro-f1'):.3f}")

f1 = dict(sorted(zip(found.classes, found.tally.f1, strict=True), key=lambda one: one[1]))
plt.barh(list(f1), list(f1.values()))
plt.xlabel("F1 of each tag on the test tickets")
plt.show()
