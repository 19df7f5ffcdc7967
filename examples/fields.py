"""Tickets with a subject, a product and an age: each field is evidence, and the explanation names the field."""

import matplotlib.pyplot as plt

from unnaive import TextClassifier

KINDS = {"subject": "text", "body": "text", "product": "category", "age": "number"}
SUBJECTS = {"billing": "invoice refund charge", "bug": "crash error freeze", "sales": "offer price licence"}

tickets, queues = [], []
for number in range(90):
    queue = sorted(SUBJECTS)[number % 3]
    tickets.append({
        "subject": SUBJECTS[queue].split()[number % 2],
        "body": "please help, it is urgent" if number % 4 else f"about the {SUBJECTS[queue].split()[2]}",
        "product": ["App", "Printer", None][(number // 3 + number % 3) % 3],
        "age": {"billing": 30, "bug": 1, "sales": 300}[queue] + number % 7,  # days since the purchase
    })  # fmt: skip
    queues.append(queue)

model = TextClassifier("nbsvm", fields=KINDS).fit(tickets, queues)

ticket = {"subject": "Refund", "body": "please help", "product": "App", "age": 33}
print(model.predict([ticket])[0])

why = model.explain(ticket)
print(why)

plt.barh(list(why.by_field), list(why.by_field.values()))
plt.xlabel(f"evidence for {why.label} by field")
plt.show()

# forgetting is exact
never = TextClassifier("nbsvm", fields=KINDS).fit(tickets[:60], queues[:60])
model.forget(tickets[60:], queues[60:])
print((model.scores([ticket]) == never.scores([ticket])).all())
