"""Route support mail: train on one mailbox for each queue, then assign each message of the inbox to a queue."""

import mailbox
import tempfile
from email.message import EmailMessage
from pathlib import Path

import matplotlib.pyplot as plt

from unnaive import TextClassifier
from unnaive.io.datafiles import DataFile
from unnaive.io.tickets import load_tickets

folder = Path(tempfile.mkdtemp())


def write_mailbox(path, texts):
    """Write the texts as an mbox file; you would use your own mailboxes."""
    box = mailbox.mbox(path)
    for text in texts:
        message = EmailMessage()
        subject, _, body = text.removeprefix("Subject: ").partition("\n")
        message["From"], message["To"], message["Subject"] = "ann@example.org", "help@example.net", subject
        message.set_content(body)
        box.add(message)
    box.close()


train, test = load_tickets().part("train"), load_tickets().part("test")
for queue in train.classes:
    of_queue = [text for text, labels in zip(train.texts, train.labels, strict=True) if queue in labels]
    write_mailbox(folder / f"{queue}.mbox", of_queue)
write_mailbox(folder / "inbox", test.texts)

# the same on the command line: unnaive train billing.mbox access.mbox … -o routes.model
corpus = DataFile(tuple(str(path) for path in sorted(folder.glob("*.mbox")))).corpus()
print(f"{len(corpus)} messages, a class for each mailbox: {', '.join(corpus.classes)}")
model = TextClassifier("nbsvm", calibrate="temperature", message="subject-body")
model.fit(corpus.texts, [queue for (queue,) in corpus.labels])

(inbox,) = DataFile(str(folder / "inbox"), format="mbox").batches(labelled=False, keep=True)
surest, queues = model.predict_proba(inbox.texts).max(axis=1), model.predict(inbox.texts)
routes = [queue if p >= 0.6 else "a person" for queue, p in zip(queues, surest, strict=True)]
for row in range(4):
    print(f"{routes[row]:9} {surest[row]:4.0%}  {inbox.kept['subject'][row]}")

routed = [(route, true) for route, (true,) in zip(routes, test.labels, strict=True) if route != "a person"]
right = sum(route == true for route, true in routed)
print(
    f"{len(routed)} of {len(routes)} messages routed, {right / len(routed):.1%} of them right; a person sees the others"
)

places = sorted(set(routes))
plt.bar(places, [routes.count(place) for place in places])
plt.xticks(rotation=30, ha="right")
plt.ylabel("messages of the inbox")
plt.show()
