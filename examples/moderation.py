"""A moderation filter with a recall target: people review as few posts as the target allows."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets
from unnaive.learning.confidence_interval import wilson_interval

# tickets take the place of posts; those with one of these tags, about accounts at risk, must not be missed
MUST_BE_SEEN = {"login", "permissions", "security"}
train, test = load_tickets("tags").part("train"), load_tickets("tags").part("test")
y, y_new = (np.array([bool(MUST_BE_SEEN & set(tags)) for tags in part.labels]) for part in (train, test))
model = TextClassifier("nbsvm", calibrate="temperature")
texts = np.array(list(train.texts), dtype=object)
held_out = cross_val_predict(model, texts, y, cv=5, method="predict_proba")[:, 1]


def choose_threshold(p, wanted, recall):
    """The highest threshold whose recall is `recall` at least, as the lower end of a 95 % interval."""
    for threshold in np.sort(p[wanted])[::-1]:
        if wilson_interval(int((p[wanted] >= threshold).sum()), int(wanted.sum()))[0] >= recall:
            return threshold
    return 0.0


target = 0.9
threshold = choose_threshold(held_out, y, target)
model.fit(texts, y)
p = model.predict_proba(test.texts)[:, 1]
seen = p >= threshold
print(f"{y.mean():.0%} of the posts must be seen; the target is a recall of {target:.0%}")
print(f"people see {seen.mean():.0%} of the new posts, from a probability of {threshold:.1%} on")
found = int((seen & y_new).sum())
print(f"{found} of the {y_new.sum()} that must be seen are among them ({found / y_new.sum():.0%})")
print(f"with 50 % as the threshold it would be {(y_new & (p >= 0.5)).sum()}")

order = np.argsort(-p)
plt.plot(np.arange(1, len(p) + 1) / len(p), np.cumsum(y_new[order]) / y_new.sum())
plt.plot(seen.mean(), found / y_new.sum(), "o")
plt.axhline(target, linestyle=":")
plt.xlabel("share of the new posts that people see")
plt.ylabel("recall")
plt.show()
