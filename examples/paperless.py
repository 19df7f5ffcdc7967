"""Replace the classifier of paperless-ngx: predict the type of a document, or None if uncertain, and its tags."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets


class DocumentClassifier:
    """The interface that paperless-ngx expects: train once, then predict one document at a time; None if uncertain."""

    def __init__(self, sure=0.5):
        self.sure = sure

    def train(self, contents, document_types, tags):
        """Learn from documents that people have filed."""
        self.types = TextClassifier("nbsvm", calibrate="temperature").fit(contents, document_types)
        self.tags = TextClassifier("nbsvm").fit(contents, tags)

    def predict_document_type(self, content):
        """The type of a document, or None."""
        p = self.types.predict_proba([content])[0]
        return self.types.classes_[p.argmax()] if p.max() >= self.sure else None

    def predict_tags(self, content):
        """The tags of a document, of which there may be none."""
        return list(self.tags.predict([content])[0])


# tickets as a stand-in for scanned documents: the queue is the type, and tags are tags
train, test = load_tickets().part("train"), load_tickets().part("test")
types, true = ([one for (one,) in part.labels] for part in (train, test))
ours = DocumentClassifier()
ours.train(train.texts, types, load_tickets("tags").part("train").labels)

content = "Please find attached the invoice for March, which we paid twice."
print("type:", ours.predict_document_type(content), "  tags:", ours.predict_tags(content))
print("type:", ours.predict_document_type("zzz"), "  tags:", ours.predict_tags("zzz"))

words = CountVectorizer(analyzer="word", ngram_range=(1, 2), min_df=0.01)  # as paperless-ngx has them
theirs = make_pipeline(words, MLPClassifier(tol=0.01, random_state=0)).fit(train.texts, types)
accuracy = {
    "paperless-ngx": np.mean(theirs.predict(test.texts) == np.array(true)),
    "NB-SVM": np.mean(ours.types.predict(test.texts) == np.array(true)),
}
for name, share in accuracy.items():
    print(f"{name:14} {share:.1%} of the types right")

plt.barh(list(accuracy), list(accuracy.values()))
plt.xlim(0, 1)
plt.xlabel("share of the document types that are right, on new documents")
plt.show()
