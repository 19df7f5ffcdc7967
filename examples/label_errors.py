"""Find label errors: give one ticket in twenty a wrong queue, and count how many of these the audit ranks first."""

import matplotlib.pyplot as plt
import numpy as np

from unnaive import TokenRule
from unnaive.curation.audit.audit import AuditOptions, audit
from unnaive.curation.audit.audit_input import AuditData
from unnaive.data.corpus import Corpus
from unnaive.io.tickets import load_tickets

tickets, draw = load_tickets(), np.random.default_rng(0)
wrong = set(draw.choice(len(tickets), len(tickets) // 20, replace=False).tolist())
labels = [
    (str(draw.choice([one for one in tickets.classes if one != queue])),) if row in wrong else (queue,)
    for row, (queue,) in enumerate(tickets.labels)
]
found = audit(AuditData.of(Corpus(tickets.texts, labels)), TokenRule(), AuditOptions())
suspects = [one.row - 1 for one in found.findings if one.kind == "label-error"]
hits = [row in wrong for row in suspects]
n_found = sum(hits[: len(wrong)])
print(f"{len(wrong)} labels are wrong; {n_found} of them are among the first {len(wrong)} suspects")

plt.plot([sum(hits[: n + 1]) / len(wrong) for n in range(len(hits))])
plt.axvline(len(wrong), linestyle=":", color="gray")
plt.xlabel("suspects that a person checks, the most certain first")
plt.ylabel("share of the wrong labels found")
plt.show()
