"""Each kind of finding on data where the right answer is evident; and cleaning by hand."""

from dataclasses import replace

import numpy as np
import pytest

from unnaive.base.errors import BadData
from unnaive.curation.audit.audit import Audit, AuditOptions, audit, choose_bulk
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.audit_page import audit_page, error_sentence
from unnaive.curation.audit.classes import confused_classes, spelling_findings, typo_pairs
from unnaive.curation.audit.cleaning import plan_changes
from unnaive.curation.audit.duplicates import leaks_between
from unnaive.curation.audit.findings import COLUMNS, KINDS, Correction, Finding, read_corrections, sort_findings
from unnaive.curation.audit.label_errors import ErrorEstimate, LabelEvidence
from unnaive.curation.audit.leaks import boilerplate_findings, column_findings, field_power
from unnaive.curation.audit.texts import main_script
from unnaive.data.corpus import Corpus
from unnaive.io.endings import TABLES
from unnaive.io.formats import read_rows
from unnaive.io.writing.table_writer import write_table
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

SPORT = "the ball went over the line and the keeper of the team let it go in the last minute"
POLITICS = "the vote on the law was close and the members of the house went home in the evening"


def look(texts, labels, split=None, **options):
    corpus = Corpus(texts, [(label,) for label in labels], split=split)
    return audit(AuditData.of(corpus), TokenRule(), AuditOptions(**options))


def found_kinds(result, *kinds):
    return [(one.kind, one.row, one.proposed) for one in result.findings if one.kind in kinds]


def test_equal_texts_with_one_label_are_dropped_but_for_the_first():
    result = look([SPORT, POLITICS, SPORT, SPORT], ["sport", "politics", "sport", "sport"])
    assert found_kinds(result, "duplicate", "duplicate-conflict") == [("duplicate", 3, ""), ("duplicate", 4, "")]


def test_equal_texts_with_two_labels_get_the_most_frequent():
    result = look([SPORT, SPORT, SPORT], ["sport", "politics", "sport"])
    assert found_kinds(result, "duplicate-conflict") == [("duplicate-conflict", 2, "sport")]
    assert result.findings[0].others == (1, 3)


def test_a_tie_between_labels_is_left_to_people():
    result = look([SPORT, SPORT], ["sport", "politics"])
    (one,) = [one for one in result.findings if one.kind == "duplicate-conflict"]
    assert (one.action, one.proposed) == ("look", "")


def test_nearly_equal_texts_are_told_with_their_share():
    """SPORT has 15 distinct terms; one more makes 15 of 16 shared."""
    result = look([SPORT, SPORT + " yesterday", POLITICS], ["sport", "politics", "politics"])
    (one,) = [one for one in result.findings if one.kind == "near-duplicate-conflict"]
    assert (one.row, one.others, one.score) == (2, (1,), pytest.approx(15 / 16))
    assert "94 % of its terms are those of row 1" in one.reason


def test_leaks_between_parts_are_about_the_test_copy():
    result = look(
        [SPORT, POLITICS, SPORT, POLITICS + " late"], ["sport", "politics"] * 2, ["train", "train", "test", "test"]
    )
    assert found_kinds(result, "leak", "near-leak", "duplicate") == [("leak", 3, ""), ("near-leak", 4, "")]


def test_leaks_into_a_test_file_are_about_the_training_row():
    data = AuditData.of(Corpus([POLITICS, SPORT, SPORT + " again", "short text"], [("a",)] * 4))
    test = Corpus(["something else entirely of five words", SPORT], [()] * 2, name="test.csv")
    counter = TextCounter()
    X, theirs = counter.count(data.texts, grow=True), counter.count(test.texts, grow=True)
    found = leaks_between(data, X, test, theirs)
    assert [(one.kind, one.row) for one in found] == [("leak", 2), ("near-leak", 3)]
    assert found[0].reason == "the same text is row 2 of test.csv"
    assert "of row 2 of test.csv" in found[1].reason


def test_spellings():
    found = list(spelling_findings({"Log In": 3, "login": 40, "log-in": 1, "refund": 9, "refnud": 1, "sales": 8}))
    assert [(one.kind, one.label, one.proposed) for one in found] == [
        ("label-spelling", "Log In", "login"),
        ("label-spelling", "log-in", "login"),
        ("label-typo", "refnud", "refund"),
    ]


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["class1", "class2"], []),  # numbers are names, not typing errors
        (["house", "mouse"], [("house", "mouse")]),
        (["form", "forms"], []),  # too short to tell
        (["billing", "biling", "bililng"], [("bililng", "biling"), ("bililng", "billing"), ("biling", "billing")]),
        (["access", "sseacc"], []),
    ],
)
def test_names_one_letter_apart(names, pairs):
    assert typo_pairs(names) == pairs


@pytest.mark.parametrize(
    "names",
    [
        ("1", "-1"),
        ("C", "C++", "C#"),
        ("x²", "x2"),
        ("group 1", "group 10", "group1"),
        ("A+", "A"),
        ("कि", "का"),  # one consonant with two vowel signs
        ("1-0", "10"),
        ("<5", ">5"),
    ],
)
def test_labels_that_differ_by_a_sign_a_symbol_or_a_digit_are_different_classes(names):
    assert list(spelling_findings(dict.fromkeys(names, 20))) == []


@pytest.mark.parametrize(
    "names",
    [
        ("Log In", "login", "log_in", "LOG  - IN"),
        ("ＡＢ", "ab"),
        ("ﾃｽﾄ", "テスト"),
        (" a-1 ", "A-1"),
        ("\u00e9", "e\u0301"),
    ],
)
def test_labels_that_differ_by_case_width_or_separators_between_letters_are_one(names):
    found = list(spelling_findings({name: 20 - number for number, name in enumerate(names)}))
    assert {(one.kind, one.proposed) for one in found} == {("label-spelling", names[0])}
    assert len(found) == len(names) - 1


def test_copies_whose_other_columns_differ_are_left_to_people():
    """Three refunds, one text: the second is of another amount, the third differs from the first by its id alone."""
    columns = {"id": ["1", "2", "3"], "amount": ["5", "7", "5"]}
    data = AuditData([SPORT] * 3, [("refund",)] * 3, range(1, 4), ["1", "2", "3"], columns=columns, id_columns=["id"])
    found = [one for one in audit(data, TokenRule(), AuditOptions()).findings if one.kind == "duplicate"]
    assert [(one.row, one.to_dict()["accept"]) for one in found] == [(2, "no"), (3, "yes")]
    assert [one.to_dict()["bulk"] for one in found] == ["no", "yes"]  # --accept duplicate drops the third alone
    assert found[0].reason == "the same text with the same label is row 1, but the rows differ in 'amount'"


def test_label_errors_are_accepted_in_bulk_up_to_the_upper_end_and_where_the_proposed_label_is_probable():
    doubted = [Finding("label-error", "", "relabel", n, probability=p) for n, p in enumerate((0.99, 0.5, 0.9, 0.95), 1)]
    chosen = choose_bulk(doubted, ErrorEstimate(1.0, 0.0, 2.9))
    assert [one.row for one in chosen if one.bulk] == [1, 3]
    assert [one.to_dict()["p_proposed"] for one in chosen] == ["0.9900", "0.5000", "0.9000", "0.9500"]
    corrections = [
        Correction("label-error", one.row == 2, "relabel", one.row, "ham", "spam", one.score, one.bulk)
        for one in chosen
    ]
    changes = plan_changes(corrections, kinds=["label-error"])
    assert sorted(changes.relabelled) == [1, 2, 3]  # somebody wrote yes beside the second
    assert dict(changes.left) == {"label-error": 1}


def test_spellings_of_one_label_are_one_class_to_everything_else():
    result = look([SPORT, POLITICS] * 12, ["sport", "politics", "Sport", "politics"] * 6)
    assert result.n_classes == 2
    assert not found_kinds(result, "label-error", "small-class", "duplicate-conflict")


def test_classes_confused_both_ways_are_named_and_others_not():
    """20 documents each of a, b and c: half of a and half of b are given to the other, and of c five to a."""
    given = np.repeat([0, 1, 2], 20)
    wrong = np.concatenate([np.arange(10), 20 + np.arange(10), 40 + np.arange(5)])
    rival = np.concatenate([np.full(20, 1), np.full(20, 0), np.full(20, 0)])
    p_given = np.where(np.isin(np.arange(60), wrong), 0.2, 0.8)
    evidence = LabelEvidence(given, rival, np.log(p_given), np.log(1 - p_given), np.ones(60, bool))
    (one,) = confused_classes(evidence, ["a", "b", "c"])
    assert {one.label, one.proposed} == {"a", "b"}
    assert "20 of 40 documents" in one.reason


def test_empty_short_and_foreign_texts():
    texts = [SPORT, POLITICS] * 10
    texts += ["", " \n", "...", "hello", "Добрый день, не могу войти в систему",
              "ich kann mich nicht anmelden und das war sehr schlecht weil wir es nicht finden"]  # fmt: skip
    result = look(texts, ["a", "b"] * 13)
    assert found_kinds(result, "empty-text", "short-text", "foreign-script", "foreign-language") == [
        ("empty-text", 21, ""), ("empty-text", 22, ""), ("empty-text", 23, ""), ("short-text", 24, ""),
        ("foreign-script", 25, ""), ("foreign-language", 26, ""),
    ]  # fmt: skip
    assert "'de'" in result.findings[-1].reason


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("naïve café crème", "LATIN"),
        ("こんにちは世界の皆さん", "CJK"),
        ("καλημέρα κόσμε", "GREEK"),
        ("1 2 3", ""),
        ("", ""),
    ],
)
def test_scripts(text, script):
    assert main_script(text) == script


def columned(columns, n=60):
    return AuditData(
        ["x"] * n, [(("a", "b")[row % 2],) for row in range(n)], range(1, n + 1), [""] * n, columns=columns
    )


def test_a_column_that_tells_the_label_is_named_and_chance_is_not():
    generator = np.random.default_rng(0)
    columns = {
        "code": [("A1", "B7")[row % 2] for row in range(60)],
        "words": [f"{('left', 'right')[row % 2]} {row}" for row in range(60)],
        "number": [float(row % 2 * 1000 + row) for row in range(60)],
        "chance": generator.choice(["x", "y", "z"], 60).tolist(),
        "same": ["1"] * 60,
        "gaps": [None] * 50 + ["q"] * 10,
    }
    found = column_findings(columned(columns))
    assert [one.id for one in found] == ["code", "words", "number"]
    assert "'code' alone gives the label of 100 % of 60 rows" in found[0].reason


def test_the_power_of_a_field_by_hand():
    """a a a b of class 0, b b of class 1; γ = .7 / (.3 · 6) = .389.

    Each a without itself is of class 0. The b of class 0: log 3 = 1.10 against log 2 + log(1 + 1/2γ) = 1.52, wrong. A b
    of class 1: log(1 + 1/2γ) = .83 against log 4 + log(1 + ¼/2γ) = 1.66, wrong too.
    """
    power = field_power(["a", "a", "a", "b", "b", "b"], np.array([0, 0, 0, 0, 1, 1]), 2, whole=True)
    assert (power.n, power.right, power.guess) == (6, 3, pytest.approx(4 / 6))


def test_header_lines_that_tell_the_label_are_named():
    texts = [
        f"NNTP-Posting-Host: {('alpha', 'beta')[row % 2]}.example.edu\nX-Mailer: tool\nDate: {row}\n\nsome words"
        for row in range(60)
    ]
    texts = [text + ("\nSent from the sports desk" if row % 2 else "") for row, text in enumerate(texts)]
    data = AuditData(texts, [(("a", "b")[row % 2],) for row in range(60)], range(1, 61), [""] * 60)
    assert [one.id for one in boilerplate_findings(data)] == ["NNTP-Posting-Host:", "Sent from the sports desk"]


def test_a_few_multilabel_documents_are_looked_at_without_label_errors():
    corpus = Corpus([SPORT, POLITICS, SPORT], [("a", "b"), ("b",), ("a", "b")])
    result = audit(AuditData.of(corpus), TokenRule(), AuditOptions())
    assert result.errors is None
    assert "this needs 20 labelled documents" in result.notes[0]
    assert found_kinds(result, "duplicate") == [("duplicate", 3, "")]


def test_findings_come_by_kind_and_score():
    found = sort_findings([Finding("empty-text", "", row=9), Finding("label-error", "", row=1, score=0.2),
                           Finding("label-error", "", row=2, score=0.9)])  # fmt: skip
    assert [one.row for one in found] == [2, 1, 9]


def test_every_kind_says_what_to_do():
    for kind, about in KINDS.items():
        assert about.title, kind
        assert about.advice, kind


def written(path, findings, name="findings.csv"):
    write_table(path / name, [one.to_dict() for one in findings], COLUMNS, excel_safe=True)
    return path / name


def read_back(path):
    return read_corrections(read_rows(path), path.name)


@pytest.mark.parametrize("name", ["findings" + ending for ending in TABLES])
def test_findings_there_and_back(tmp_path, name):
    found = [
        Finding("label-error", 'a "reason", with\na line', "relabel", 7, "x", "ham", "spam", 0.97, (1, 2), "=text"),
        Finding("duplicate", "same", "drop", 8, label="ham"),
    ]
    assert read_back(written(tmp_path, found, name)) == [
        Correction("label-error", False, "relabel", 7, "ham", "spam", 0.97),
        Correction("duplicate", True, "drop", 8, "ham", "", 1.0),
    ]


def test_no_findings_are_a_table_too(tmp_path):
    for ending in TABLES:
        path = written(tmp_path, [], f"findings{ending}")
        if "json" not in ending:  # JSON lines without a line have no columns
            assert read_back(path) == []


def test_formulas_of_spreadsheets_are_marked_and_read_back(tmp_path):
    found = [Finding("label-typo", "r", "relabel", 0, label="=cmd()", proposed="-x", text="+1")]
    path = written(tmp_path, found)
    assert "'=cmd()" in path.read_text()
    (back,) = read_back(path)
    assert (back.label, back.proposed) == ("=cmd()", "-x")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind,row", "sort,row", "no column 'kind'"),
        ("duplicate,8", "twice,8", "the kind 'twice'"),
        (",drop,", ",delete,", "the action 'delete'"),
        (",yes,yes,", ",maybe,yes,", "'maybe' in the column accept"),
        (",yes,yes,", ",yes,maybe,", "'maybe' in the column bulk"),
        ("duplicate,8", "duplicate,eight", "the row 'eight'"),
    ],
)
def test_bad_findings_are_refused_with_the_row(tmp_path, old, new, words):
    path = written(tmp_path, [Finding("duplicate", "same", "drop", 8, label="ham")])
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(BadData, match=words):
        read_back(path)


def correction(kind="label-error", accepted=True, action="relabel", row=1, label="ham", proposed="spam", score=0.9):
    return Correction(kind, accepted, action, row, label, proposed, score)


def test_changes_by_hand():
    changes = plan_changes(
        [
            correction(row=1),
            correction(row=2, accepted=False),
            correction("duplicate", action="drop", row=3),
            correction(row=3),  # dropped anyway
            correction("label-spelling", row=0, label="Ham", proposed="ham"),
        ]
    )
    labels = [changes.labels(row, (label,)) for row, label in enumerate(["ham", "ham", "ham", "Ham", "spam"], 1)]
    assert labels == [("spam",), ("ham",), None, ("ham",), ("spam",)]
    assert dict(changes.done) == {"relabelled": 1, "dropped": 1, "renamed": 1}


def test_kinds_are_accepted_from_a_score_on():
    given = [correction(row=1, accepted=False, score=0.99), correction(row=2, accepted=False, score=0.5)]
    assert plan_changes(given, kinds=["label-error"], min_score=0.9).relabelled == {1: "spam"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([correction(), correction(proposed="eggs")], "row 1 is to become both 'spam' and 'eggs'"),
        ([correction("small-class", action="look", row=0, proposed="")], "only to look at it"),
        ([correction("duplicate", action="drop", row=0)], "names no row"),
    ],
)
def test_contradictions_are_refused(given, words):
    with pytest.raises(BadData, match=words):
        plan_changes(given)


def test_renaming_in_a_circle_is_refused():
    changes = plan_changes([correction(row=0, label="a", proposed="b"), correction(row=0, label="b", proposed="a")])
    with pytest.raises(BadData, match="in a circle"):
        changes.labels(1, ("a",))


def test_the_page_escapes_what_comes_from_data():
    result = look(["<script>alert(1)</script> " + SPORT] * 2, ["<b>x</b>", "<b>x</b>"])
    page = audit_page(result)
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;x" in page


def test_the_headline_says_how_many_labels_are_wrong_at_most_and_how_many_are_doubted():
    doubted = tuple(Finding("label-error", "", "relabel", row) for row in range(1, 4))
    few = Audit("data", 100, 2, 9, doubted, ErrorEstimate(2.0, 1.0, 2.7, 6.1), False, suspects=4)
    first, second = error_sentence(few).split(". ")
    assert (
        first == "label errors: about 2 (2.0 % of the documents; at most 3), 4 to look at (3 of them in the findings)"
    )
    assert second.startswith("The number is an estimate from the most certain predictions")
    many = error_sentence(replace(few, suspects=7))
    assert many.endswith(
        "The list is much longer than the estimate, which assumes that hard texts were labelled as carefully as easy "
        "ones; if not, up to 7 labels may be wrong: read some from the middle of the list"
    )
