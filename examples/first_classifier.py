"""Train on the built-in support tickets, evaluate on others and predict; a figure shows which queues are confused."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier, evaluate
from unnaive.io.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
model = TextClassifier(budget="fast").fit(train.texts, [queue for (queue,) in train.labels])
found = evaluate(model, test.texts, test.labels)
print(f"{found.measure('accuracy'):.1%} right on {len(test)} new tickets")

for text in ("I was charged twice", "the export has no header", "please reset my password"):
    probability = model.predict_proba([text])[0].max()
    print(f"{model.predict([text])[0]:12} {probability:4.0%}  {text}")

plt.imshow(found.confusion, cmap="Blues")
plt.grid(False)
plt.xticks(range(len(found.classes)), found.classes, rotation=45, ha="right")
plt.yticks(range(len(found.classes)), found.classes)
plt.xlabel("predicted")
plt.ylabel("true")
plt.show()
