"""The built-in corpus: support tickets of a fictional software company, for demos, tests and first steps.

926 tickets to the support desk of Quillbarrow, a planning tool that does not exist, written for this project and
shipped with it under its BSD-3-Clause licence. Customers, people, products and addresses are invented too.

Each ticket is in one of 8 queues and has up to 3 of 15 tags (50 tickets have none), so the same texts are a
single-label and a multilabel example. The split is fixed: 651 to train, 275 to test, with 30 % of
every queue in test.

    access 147   billing 187   bug 158   data 82   feature 77   howto 122   integration 104   sales 49

They have from one line to several paragraphs (median 46 words), with typing errors, pasted logs, forwarded mails,
signatures and a few words in other languages, and some could also be in another queue. Each problem was written
individually and is in only one ticket. A seeded script added subject lines, follow-up sentences typical of the queue,
small talk, sign-offs and typing errors. A follow-up sentence occurs in at most two tickets, both of the same part;
greetings, subjects and small talk may occur in any number of tickets.

The texts were adjusted until they were neither trivial nor very hard to classify, so an accuracy on them compares
models in a demo and says nothing about real help desks. Multinomial naive Bayes with Laplace smoothing on all words
puts 82 % of the test part in the right queue; always answering "billing" gives 20 %.

Tags were given by hand and completed by topic words in the problem, so part of them is a matter of spotting words.
The tags: api (also webhooks and connectors), boards (and tasks), documents (also forms and files), import-export
(also backups), invoice, login, mobile, notifications, outage (down or slow), permissions, planning (dates, hours,
reports), refund, security (also privacy), subscription (plans, seats, prices, payments), urgent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

from unnaive.base.errors import choose
from unnaive.base.types import RowValues
from unnaive.data.corpus import Corpus, Labels

LABELS: dict[str, Callable[[RowValues], Labels]] = {
    "queue": lambda record: (record["queue"],),
    "tags": lambda record: tuple(record["tags"]),
}


def load_records() -> list[RowValues]:
    """The tickets as they are shipped, each with `id`, `split`, `queue`, `tags` and `text`.

    >>> sorted(load_records()[0])
    ['id', 'queue', 'split', 'tags', 'text']
    """
    lines = files("unnaive.io").joinpath("tickets.jsonl").read_text(encoding="utf-8")
    # split at "\n" alone: str.splitlines would also break at separators that may stand inside a text
    return [json.loads(line) for line in lines.split("\n") if line]


def load_tickets(labels: str = "queue") -> Corpus:
    """The ticket corpus, labelled by `"queue"` (one label for each ticket) or by `"tags"` (none to three).

    >>> corpus = load_tickets()
    >>> len(corpus), len(corpus.part("train")), len(corpus.part("test"))
    (926, 651, 275)
    >>> corpus.classes
    ('access', 'billing', 'bug', 'data', 'feature', 'howto', 'integration', 'sales')
    >>> load_tickets("tags").multilabel
    True
    """
    labels_of = LABELS[choose(list(LABELS), labels, "ticket label")]
    rows = load_records()
    return Corpus(
        [row["text"] for row in rows],
        [labels_of(row) for row in rows],
        [row["split"] for row in rows],
        [row["id"] for row in rows],
        name="tickets",
    )
