"""Use vectors of whole texts beside the words; here, scikit-learn's SVD computes them from all training texts."""

import matplotlib.pyplot as plt
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets

train, test = load_tickets().part("train"), load_tickets().part("test")
queues, truth = [queue for (queue,) in train.labels], [queue for (queue,) in test.labels]

# any encoder can be used, such as a sentence transformer; this one needs no download
encoder = make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(50, random_state=0)).fit(train.texts)
vectors = encoder.transform(train.texts)
records = {"body": test.texts, "topic": encoder.transform(test.texts)}

sizes, kinds = [50, 100, 200], {"body": "text", "topic": "vector"}
words, both = [], []
for size in sizes:
    alone = TextClassifier("svm").fit(train.texts[:size], queues[:size])
    model = TextClassifier("svm", fields=kinds).fit(
        {"body": train.texts[:size], "topic": vectors[:size]}, queues[:size]
    )
    words.append(alone.score(test.texts, truth))
    both.append(model.score(records, truth))
    print(f"{size:4} labels: {words[-1]:.1%} by words, {both[-1]:.1%} with vectors")

why = model.explain({"body": test.texts[0], "topic": records["topic"][0]})
print({field: round(value, 2) for field, value in why.by_field.items()})

plt.plot(sizes, words, "o-", label="words")
plt.plot(sizes, both, "s-", label="words and vectors")
plt.xlabel("labelled tickets")
plt.ylabel("accuracy")
plt.legend()
plt.show()
