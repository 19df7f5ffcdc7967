"""Replace the classifier of paperless-ngx: predict the type of a document, or None if uncertain, and its tags."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from unnaive.interop.integrations.paperless import DocumentClassifier
from unnaive.io.tickets import load_tickets

# tickets as a stand-in for scanned documents: the queue is the type; keys are as in a database
train, test = load_tickets().part("train"), load_tickets().part("test")
queues, tags = train.classes, load_tickets("tags").part("train")
types, true = ([queues.index(queue) for (queue,) in part.labels] for part in (train, test))
ours = DocumentClassifier(sure=0.6)
ours.learn(train.texts, document_type=types, tags=[[tags.classes.index(tag) for tag in each] for each in tags.labels])

content = "Please find attached the invoice for March, which we paid twice."
named = [tags.classes[tag] for tag in ours.predict_tags(content)]
print("type:", queues[ours.predict_document_type(content)], "  tags:", named)
print("type:", ours.predict_document_type("zzz"), "  tags:", ours.predict_tags("zzz"))

words = CountVectorizer(analyzer="word", ngram_range=(1, 2), min_df=0.01)  # as paperless-ngx has them
theirs = make_pipeline(words, MLPClassifier(tol=0.01, random_state=0)).fit(train.texts, types)
accuracy = {
    "paperless-ngx": np.mean(theirs.predict(test.texts) == np.array(true)),
    "NB-SVM": np.mean(ours.models["document_type"].predict(test.texts) == np.array(true)),
}
for name, share in accuracy.items():
    print(f"{name:14} {share:.1%} of the types right")

plt.barh(list(accuracy), list(accuracy.values()))
plt.xlim(0, 1)
plt.xlabel("share of the document types that are right, on new documents")
plt.show()
