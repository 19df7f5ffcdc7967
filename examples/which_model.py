"""Compare models on the same folds of your own data."""

import matplotlib.pyplot as plt

from unnaive import compare
from unnaive.io.tickets import load_tickets

train = load_tickets().part("train")
queues = [queue for (queue,) in train.labels]
found = compare(["multinomial", "complement", "rocchio", "svm", "nbsvm"], train.texts, queues, folds=5)
print(found)

accuracy = [one for one in found.summaries if one.measure == "accuracy"]
names = [one.contender for one in accuracy]
plt.errorbar([one.mean for one in accuracy], names, xerr=[one.half_width for one in accuracy], fmt="o")
plt.xlabel("accuracy in 5-fold cross-validation, 95 % interval")
plt.show()
