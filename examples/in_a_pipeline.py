"""Models are scikit-learn estimators on counts: pipelines and grid search work with them."""

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from unnaive import ComplementNB
from unnaive.io.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
pipeline = make_pipeline(CountVectorizer(), ComplementNB())
alphas = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
search = GridSearchCV(pipeline, {"complementnb__alpha": alphas}, cv=3)
search.fit(train.texts, [queue for (queue,) in train.labels])
print("best", search.best_params_)
print(f"{search.score(test.texts, [queue for (queue,) in test.labels]):.1%} right")

plt.errorbar(alphas, search.cv_results_["mean_test_score"], yerr=search.cv_results_["std_test_score"], fmt="o-")
plt.xscale("log")
plt.xlabel("alpha")
plt.ylabel("accuracy in 3-fold cross-validation")
plt.show()
