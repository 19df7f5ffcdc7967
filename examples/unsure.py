"""Calibrated probabilities: leave uncertain documents to a person, or predict a set of labels with a confidence."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier, evaluate
from unnaive.io.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
model = TextClassifier("nbsvm", calibrate="temperature").fit(train.texts, [queue for (queue,) in train.labels])
found = evaluate(model, test.texts, test.labels)
print(f"accuracy {found.measure('accuracy'):.1%} if every ticket is labelled")

choice = found.choose_abstention(0.95)  # on half of the tickets, for 95 % right with a confidence of 90 %
print(f"{choice.accuracy:.1%} right on the other half, if its {choice.coverage:.0%} most certain tickets are labelled")

for labels in model.predict_label_set(["can you add an export to the api", "please reset my password"], coverage=0.95):
    print("95 % sure that it is", " or ".join(labels))

plt.plot(found.abstention.coverage, found.abstention.accuracy)
plt.plot(choice.coverage, choice.accuracy, "o")
plt.xlabel("share of the tickets that are labelled, the most certain first")
plt.ylabel("accuracy")
plt.show()
