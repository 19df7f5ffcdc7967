"""The lines of the guide for beancount's smart_importer, with a stand-in for its predictor."""

import re
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "beancount.md"


class PredictPostings:
    """The part of smart_importer's predictor that the guide builds on."""

    def apply_prediction(self, entry, prediction):
        return entry, prediction.split(" ")


@pytest.fixture
def guide(monkeypatch):
    module = ModuleType("smart_importer")
    module.PredictPostings = PredictPostings
    monkeypatch.setitem(sys.modules, "smart_importer", module)
    (code,) = re.findall(r"```py\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    return SimpleNamespace(**names)


def transaction(payee, narration, amount, other="Expenses:Food"):
    """As in a ledger; with `other` None as in a statement."""
    bank = SimpleNamespace(account="Assets:Bank", units=SimpleNamespace(number=Decimal(amount)))
    rest = [] if other is None else [SimpleNamespace(account=other, units=None)]
    return SimpleNamespace(payee=payee, narration=narration, postings=[*rest, bank])


LEDGER = [transaction("Farmer Fresh", f"fruit {n}", "-12.50") for n in ("apples", "pears", "plums")] + [
    transaction(None, f"rent {n}", "-900", "Expenses:Rent") for n in ("may", "june", "july")
]
TARGETS = ["Assets:Bank Expenses:Food"] * 3 + ["Assets:Bank Expenses:Rent"] * 3


def test_it_predicts_accounts_and_leaves_out_what_is_not_sure(guide):
    assert guide.record(LEDGER[0]) == {
        "payee": "Farmer Fresh", "narration": "fruit apples", "account": "Assets:Bank", "amount": -12.5,
    }  # fmt: skip
    predictor = guide.SurePostings()
    predictor.define_pipeline()
    predictor.pipeline.fit(LEDGER, TARGETS)
    new = [transaction("Farmer Fresh", "fruit grapes", "-11", None), transaction(None, "rent", "-900", None)]
    assert predictor.pipeline.predict(new) == [TARGETS[0], TARGETS[3]]
    predictor.pipeline.sure = 1.1
    assert predictor.pipeline.predict(new) == ["", ""]
    assert predictor.apply_prediction(new[0], "") is new[0]
    assert predictor.apply_prediction(new[0], TARGETS[0]) == (new[0], ["Assets:Bank", "Expenses:Food"])


def test_one_transaction_of_each_account_is_enough(guide):
    model = guide.SureModel(sure=0.0).fit([LEDGER[0], LEDGER[3]], [TARGETS[0], TARGETS[3]])
    assert model.predict([LEDGER[1], LEDGER[4]]) == [TARGETS[0], TARGETS[3]]
