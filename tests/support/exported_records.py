"""Records of hard, odd and drawn values, and models that know all their terms, for tests of exports with fields."""

from random import Random

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.data.fields.fields import encode_records
from unnaive.interop.export.hard_records import VALUES
from unnaive.text.field import Field

KINDS = {
    "Subject line": "text", "note": "own", "body": "text", "product": "category", "age": "number", "opened": "date",
}  # fmt: skip
TEXTS = [
    "Refund ÉTÉ the invoice",
    "",
    None,
    "good:ball good:) 日本語 text",
    "it stops with an error 👍🏽 2024",
    "N/A",
    "I I",
]
ODD_VALUES = {
    "category": ["\x1c", "a\x00b", "\ud800", "\u2003wide\u3000", "٣.0", "３.00", "3.٠", "n/a ", "-5.0",
                 "--5.0", "\ufffd", "²"],
    "number": ["3.4999999999999999999", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "-1e400",
               "1e-400", "٣٫٥", "٣", "３.５e１", "miſſing", " nan ", "+nan", "$nan", "$", "%%", "1_", "_1", "1__0",
               "1e", "e5", ".", "-", "- 5", "0x10", "1,2,3", "1,234,56", "12,3456,789", "1 234,5", "1 2", "7\x1f",
               "\u00a07\u00a0", "1e5_0", "infx", "-INF", "ınf", "1,234.", "1'234_567 890.25",
               "0." + "0" * 400 + "1e401", "9" * 400, "1.234,56", "-1.234.567,5", "1.234.567", "1.234.56", "12.34.567",
               "12,34,567.8", "1,23,456", "123,45,678", "1,23,45", "1,23,456,789", "1 234,5", "1 234,567",
               "1\u202f234,5", "1\u00a0234.5", "1\u2019234\u2019567.5", "1.234,", "1.234,5,6", "1.234 567,8",
               "٣٬٤٥٦", "١.٢٣٤,٥", "€ 1.234,50"],
    "date": ["5 March 2024", "Tue, 5 Mar 2024 00:00", "Tuesday March 5, 1999 23:59:59", "26-FEB-1987 15:01:01.79",
             "Mar. 5 2024", "5 ſep 2024", "5 Sept., 2024T9:30", "Wednesdayy 5 May 2024", "5 Foo 2024", "2023-02-29",
             "2024-13-13", "2024-13-12", "3/5/024", "3/5/024 9:00", "1.2.24", "2024-03-05 24:00", "2024-03-05 9:60",
             "2024-03-05T", "2024-03-05 9", "2024-03-0５", "2024-3-5\u20039:07", "99-1-1", "1-1-99", "٢٠٢٤-٠٣-٠٥",
             "Mon Jan 1 2024", "5 Marchs 2024 x", "5--March 2024", "5 March,-. 2024, T 7:00 o'clock", "9999-12-31",
             "2024-03-05 12:00:00.5 P.M.", "2024-03-05 1:05am", "2024-03-05 0:30 PM", "2024-03-05 13:30 AM",
             "2024-03-05 12:07\u202fPM", "2024-03-05 ۱:۳۰ pm", "2024-03-05 1:30 pJan", "2024-03-05 1:30 pmJan",
             "2024-03-05 1:30  p..m", "2024-03-05 1:30pm~", "2024-03-05 1:30 . pm", "2024-03-05 1:30 pm UTC"],
}  # fmt: skip
DRAWN = {
    "number": "0123456789" * 2 + ".,eE+-_ '$%€٣\u00a0x",
    "date": "0123456789" * 2 + "--//. :,Tapm",
}
WORDS = {"number": ["1,234", "e-3", "inf", "1_0", "3.5", ".234", ",56", " 789", "1.234,5"],
         "date": ["2024", "March", "5", " 14:30", " 2:30 PM", "am", "Tue, ", "12", "jan", "-03-", "/5/"]}  # fmt: skip


def readable(kind, value):
    """Whether Python reads a value of this kind."""
    try:
        encode_records({"x": [value]}, [Field.of("x", kind)])
    except BadData:
        return False
    return True


def drawn_value(kind, random):
    """A value of a few characters or words of its kind."""
    pieces = [
        random.choice(WORDS[kind] if random.random() < 0.3 else DRAWN[kind]) for _ in range(random.choice((2, 4, 8)))
    ]
    return "".join(pieces)


def drawn_records(n, seed=0):
    """Records of hard, odd and drawn values, which Python reads."""
    random = Random(seed)
    pools = {kind: [*VALUES[kind], *ODD_VALUES[kind]] for kind in VALUES}
    for kind in ("number", "date"):
        pools[kind] += [drawn_value(kind, random) for _ in range(4 * n)]
    values = {kind: [value for value in pool if readable(kind, value)] for kind, pool in pools.items()}
    assert len(values["number"]) > n
    return [{name: random.choice(values.get(kind, TEXTS)) for name, kind in KINDS.items()} for _ in range(n)]


def fitted_records(records, **rule):
    """A model that knows every term of these records, so that each counts."""
    random = Random(1)
    labels = [random.choice("abc") for _ in records]
    return TextClassifier("multinomial", fields=KINDS, **rule).fit(records, labels).fitted_
