"""Which columns of awkward tables become fields, and what is said of the others."""

import random
from datetime import datetime, timedelta

import pytest

from unnaive.data.fields.field_choice import CONSTANT, IDS, LEAKS, choose_fields

N = 400
FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%b %d, %Y")


@pytest.fixture(scope="module")
def choice():
    """The choice among columns each of which is awkward in its own way."""
    draw = random.Random(5)
    labels = [draw.choice(["billing", "bug", "sales"]) for _ in range(N)]
    days = [datetime(2024, 1, 1) + timedelta(days=draw.randrange(365)) for _ in range(N)]
    hours = {"billing": 1, "bug": 50, "sales": 500}
    texts = ("the customer asked for the money back today", "it does not work at all since the last update")
    columns = {
        "id": [str(n) for n in range(N)],
        "id of pandas": [f"{n}.0" if n % 7 else None for n in range(N)],
        "code": [f"T-{draw.randrange(10**9)}" for _ in range(N)],
        "link": [f"https://example.org/{n}" for n in range(N)],
        "copy": [f" {label.upper()}" for label in labels],
        "coded": [f"{label[:2]}{draw.randrange(5)}" for label in labels],
        "half a copy": [label.title() if draw.random() < 0.5 else None for label in labels],
        "hours to resolve": [str(hours[label] + draw.random()) for label in labels],
        "team": [label if draw.random() < 0.96 else "other" for label in labels],
        "region": ["EMEA"] * N,
        "half": [draw.choice(["a", "b", None, None]) for _ in range(N)],
        "empty": [None] * N,
        "canned": [draw.choice(texts) for _ in range(N)],
        "amount": [f"{draw.randrange(1, 900) * 1000:,}" for _ in range(N)],
        "opened": [day.strftime(draw.choice(FORMATS)) for day in days],
        "no dates": [f"2024-{draw.randrange(31, 40)}-31" for _ in range(N)],
        "late words": [str(draw.randrange(90)) if n < 350 else "about 5" for n in range(N)],
        "noise": [draw.choice("xyz") for _ in range(N)],
        "rare": ["yes" if n % 40 == 0 else None for n in range(N)],
        "phone": [f"+90 {draw.randrange(500, 600)} {draw.randrange(900)} {draw.randrange(9000)}" for _ in range(N)],
        "comment": [f"closed by the {label} team" for label in labels],
        "title": [f"{draw.choice(texts)} {n % 150}" for n in range(N)],
        "price": [f"${draw.randrange(10**5, 10**8) / 100:,.2f}" for _ in range(N)],
        "tutar": [f"{n % 9}.{draw.randrange(100, 999)},{draw.randrange(10, 99)} €" for n in range(N)],
        "lakh": [f"{1 + n % 9},{draw.randrange(10, 99)},{draw.randrange(100, 999)}" for n in range(N)],
        "il": [draw.choice(["İstanbul", "ığdır", "IĞDIR", "दिल्ली"]) for _ in range(N)],
        "sayı": [draw.choice("०१२३४५६७८९") + draw.choice("०१२३४५६७८९") for _ in range(N)],
    }
    return choose_fields(columns, labels)


def test_ids_leaks_and_constants_are_left_out(choice):
    assert choice.left_out == {
        "id": IDS, "id of pandas": IDS, "code": IDS, "link": IDS, "copy": LEAKS, "coded": LEAKS, "half a copy": LEAKS,
        "hours to resolve": LEAKS, "region": CONSTANT, "phone": IDS, "comment": LEAKS,
    }  # fmt: skip


def test_kinds_are_those_of_all_values_looked_at(choice):
    assert choice.kinds == {
        "team": "category", "half": "category", "canned": "category", "amount": "number", "opened": "date",
        "no dates": "category", "late words": "category", "noise": "category", "rare": "category", "title": "text",
        "price": "number", "tutar": "number", "lakh": "number",
        "il": "category", "sayı": "number",
    }  # fmt: skip


def test_near_leaks_are_named(choice):
    assert list(choice.suspects) == ["team"]
    assert 0.9 <= choice.suspects["team"] < 0.99
    assert list(choice.promising) == ["team", "title"]


def test_the_only_text_is_read_though_it_reveals_the_label():
    """Toy data, and intents of a few phrases."""
    texts, labels = ["good ball", "fair vote"] * 30, ["sport", "politics"] * 30
    choice = choose_fields({"body": texts, "code": ["s", "p"] * 30}, labels)
    assert (choice.kinds, choice.left_out, choice.suspects) == ({"body": "text"}, {"code": LEAKS}, {"body": 1.0})
    choice = choose_fields({"body": texts, "subject": ["re: hello", "a question", "no idea"] * 20}, labels)
    assert (choice.kinds, choice.left_out) == ({"subject": "text"}, {"body": LEAKS})
    assert choose_fields({"body": texts}, labels, {"body": "text"}).kinds == {"body": "text"}
