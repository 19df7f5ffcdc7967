"""Records with fields × every verb of the command line and of TextClassifier, and what is said of bad ones."""

import copy
import csv
import json
import random

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.data.fields.fields import encode_records
from unnaive.data.fields.numbers_and_dates import parse_date
from unnaive.text.field import read_fields
from unnaive.text.sections import section_modes, shown_record

KINDS = {"subject": "text", "body": "text", "product": "category", "age": "number", "opened": "date"}
OPTIONS = [
    "--text", "subject", "--text", "body", "--category", "product", "--number", "age", "--date", "opened",
]  # fmt: skip
TRAIN = ["--label", "queue", *OPTIONS]
READ = [
    "--label", "queue", *OPTIONS[:4], "--set", "category=product", "--set", "number=age", "--set", "date=opened",
]  # fmt: skip  # of the other commands
WORDS = {
    "billing": ("refund please", "my card was charged twice"), "bug": ("crash on start", "it stops with an error"),
    "sales": ("price list", "we want to order seats"),
}  # fmt: skip


def make_rows(n, seed):
    """Tickets whose queue is told by words and ages, the rest by chance."""
    draw = random.Random(seed)
    rows = []
    for number in range(n):
        queue = draw.choice(sorted(WORDS))
        subject, body = WORDS[queue] if draw.random() < 0.8 else WORDS[draw.choice(sorted(WORDS))]
        rows.append({
            "ticket": f"T{number:04}", "subject": subject, "body": f"{body}, {draw.choice(['thanks', 'hello'])}",
            "product": draw.choice(["Laser Printer", "App", ""]),
            "age": draw.choice([1, 3.5, 40, ""]) if queue == "bug" else draw.choice([200, 250]),
            "opened": f"2024-{draw.randint(1, 12):02}-0{draw.randint(1, 9)} 0{draw.randint(0, 9)}:15", "queue": queue,
        })  # fmt: skip
    return rows


def write(path, rows):
    """A CSV file of rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture
def files(tmp_path):
    """old.csv, new.csv and all.csv, which is both."""
    rows = make_rows(60, seed=1)
    for name, part in (("old.csv", rows[:40]), ("new.csv", rows[40:]), ("all.csv", rows)):
        write(tmp_path / name, part)
    return tmp_path


def done(found):
    """stdout of a command that must succeed."""
    code, out, err = found
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    "model", ["multinomial", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nbsvm", "auto"))]
)
def test_update_and_forget_give_the_bytes_of_training_at_once(run, files, model):
    for source, name in (("old.csv", "a"), ("all.csv", "b"), ("old.csv", "c")):
        more = ["--budget", "fast"] if model == "auto" else []
        done(run("train", source, *TRAIN, "-m", model, "-o", f"{name}.model", *more))
    done(run("update", "a.model", "new.csv"))
    assert (files / "a.model").read_bytes() == (files / "b.model").read_bytes()
    done(run("forget", "a.model", "new.csv", "--receipt", "r.json"))
    assert (files / "a.model").read_bytes() == (files / "c.model").read_bytes()
    done(run("verify", "a.model", "--receipt", "r.json"))
    done(run("train", "new.csv", *TRAIN, "-m", model, "-o", "d.model", *more))
    done(run("merge", "c.model", "d.model", "-o", "e.model"))
    if model != "auto":  # whose hashes of texts are those of the files in their order
        assert (files / "e.model").read_bytes() == (files / "b.model").read_bytes()


def test_filter_and_follow_read_records(run, files, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    done(run("train", "old.csv", *TRAIN, "-m", "multinomial", "-o", "a.model"))
    done(run("train", "all.csv", *TRAIN, "-m", "multinomial", "-o", "b.model"))
    rows = make_rows(60, seed=1)[40:]
    lines = [json.dumps(row) + "\n" for row in rows]
    (files / "new.jsonl").write_text("".join(lines), encoding="utf-8")
    parquet.write_table(
        pyarrow.Table.from_pylist([{**row, "age": str(row["age"])} for row in rows]), files / "new.parquet"
    )
    labels = TextClassifier.load(files / "a.model").predict_proba(rows)[:, 1] >= 0.5
    for name in ("new.jsonl", "new.parquet"):
        done(run("filter", "a.model", name, "--class", "bug", "--above", "0.5", "-o", f"kept.{name}"))
    kept = (files / "kept.new.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert kept == [line for line, good in zip(lines, labels, strict=True) if good]
    assert parquet.read_table(files / "kept.new.parquet").column("ticket").to_pylist() == [
        json.loads(line)["ticket"] for line in kept
    ]
    bad = "".join([*lines, '{"age": "old", "queue": "bug"}\n', '{"queue": "bug"}\n'])
    (files / "arriving.jsonl").write_text(bad, encoding="utf-8")
    with (files / "arriving.jsonl").open() as arriving:
        monkeypatch.setattr("sys.stdin", arriving)
        out = done(run("update", "a.model", "--follow"))
    assert "a.model learnt 20 documents in 1 write, 2 lines left out" in out
    expected, found = (TextClassifier.load(files / name) for name in ("b.model", "a.model"))
    assert np.array_equal(found.scores(rows), expected.scores(rows))


def test_streaming_and_the_matrix_on_disk_give_the_same_model(run, files):
    for model in ("multinomial", "nbsvm"):
        done(run("train", "all.csv", *TRAIN, "-m", model, "-o", "a.model"))
        done(run("train", "all.csv", *TRAIN, "-m", model, "-o", "b.model", "--memory", "1G"))
        assert (files / "a.model").read_bytes() == (files / "b.model").read_bytes()


RECORD = {"subject": "refund please", "body": "my card", "age": 200, "product": "Laser Printer"}
MATRIX = {
    "train": ["train", "old.csv", *TRAIN, "-m", "nbsvm", "--calibrate", "temperature", "-o", "m.model"],
    "predict": ["predict", "m.model", "new.csv"],
    "evaluate": ["evaluate", "m.model", "new.csv", "--json"],
    "explain": ["explain", "m.model", json.dumps(RECORD)],
    "inspect": ["inspect", "m.model"],
    "update": ["update", "m.model", "new.csv"],
    "forget": ["forget", "m.model", "new.csv", "--receipt", "r.json"],
    "verify": ["verify", "m.model", "--receipt", "r.json"],
    "merge": ["merge", "m.model", "m2.model", "-o", "both.model"],
    "remake": ["remake", "m.model", "--set", "min-df=2", "-o", "again.model"],
    "compress": ["compress", "m.model", "-o", "small.model", "--max-size", "20kB"],
    "export": ["export", "m.model", "--to", "js", "-o", "exported"],
    "filter": ["filter", "m.model", "new.jsonl", "--class", "bug", "--above", "0.5", "-o", "kept.jsonl"],
    "audit": ["audit", "all.csv", *READ, "--fast", "-o", "audit"],
    "clean": ["clean", "all.csv", "audit/findings.csv", "-o", "fixed.csv", *READ],
    "compare": ["compare", "all.csv", *READ, "--models", "multinomial", "--folds", "2"],
    "label status": ["label", "status", "old.csv", *READ, "-o", "labels.db"],
    "label export": ["label", "export", "labels.db", "-o", "labels.csv", "--votes"],
    "label import": ["label", "import", "labels.csv", "old.csv", "-o", "again.db"],
    "label simulate": ["label", "simulate", "all.csv", *READ, "--labels", "20", "--seeds", "2"],
}
ELSEWHERE = {
    "serve": "tests/apps/service/test_service_fields.py", "rebase": "tests/apps/service/test_service_fields.py",
    "import": "other tools' models, which have no fields", "demo": "its own texts",
    "label": "the page", "collections": "their own texts", "reproduce": "papers' collections", "doctor": "no data",
    "plot": "measures alone",
}  # fmt: skip


@pytest.mark.slow
def test_every_verb_of_the_command_line(run, files):
    import typer

    from unnaive.apps.cli.main import build_app

    assert {*MATRIX, *ELSEWHERE} == set(typer.main.get_command(build_app()).commands)
    lines = [json.dumps(row) + "\n" for row in make_rows(20, seed=7)]
    (files / "new.jsonl").write_text("".join(lines), encoding="utf-8")
    done(run("train", "new.csv", *TRAIN, "-m", "nbsvm", "--calibrate", "temperature", "-o", "m2.model"))
    shown = {verb: done(run(*command)) for verb, command in MATRIX.items()}
    assert not any("\x1e" in words for words in shown.values())
    assert shown["predict"].startswith("ticket,subject,body,product,age,opened,queue,label,")
    assert json.loads(shown["evaluate"])["measures"]["accuracy"] > 0.5
    for part in ("subject: refund please", "age = 200 in [192, 224)", "product = Laser Printer", "by field:"):
        assert part in shown["explain"]
    assert "subject (text), body (text), product (category)," in shown["inspect"]
    assert "\x1e" not in (files / "audit" / "findings.csv").read_text(encoding="utf-8")
    assert (files / "fixed.csv").read_text(encoding="utf-8").startswith("ticket,subject,body,product,age,opened,queue")
    assert set((files / "kept.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)) < set(lines)
    found = json.loads(done(run("explain", "m.model", json.dumps(RECORD), "--json")))
    assert found["fields"].keys() >= {"subject", "body", "age"}
    done(run("predict", "small.model", "new.csv"))
    for target in ("c", "sql"):
        done(run("export", "m.model", "--to", target, "-o", f"exported-{target}"))
    done(run("train", "labels.db", "-m", "nbsvm", "-o", "labelled.model"))
    for verb in ("evaluate", "predict", "update", "forget"):
        done(run(verb, "labelled.model", "labels.db", *(["-o", "out.csv"] if verb == "predict" else [])))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            ["export", "m.model", "--to", "onnx", "-o", "out"],
            "which the export to ONNX does not support; export it to js, c or sql",
        ),
        (
            ["export", "m.model", "--to", "js", "--page", "-o", "out"],
            "which the export to the page does not support; export it to js, c or sql",
        ),
        (["filter", "m.model", "new.txt", "--class", "bug", "--above", "0.5", "-o", "out"], "new.txt has only texts"),
        (["explain", "m.model", '{"body": "refund"'], "give a JSON object"),
        (["explain", "m.model", '{"bdy": "refund"}'], "the record has bdy, but the model reads subject, body, product"),
        (["train", "new.csv", "--label", "queue", "--fields", "atuo", "-o", "x.model"], "did you mean 'auto'"),
        (["predict", "m.model", "less.csv"], "has no column 'product', which the model reads as a field"),
        (["predict", "m.model", "odd.csv"], "field 'age' is of kind number, but a value is 'old'"),
        (["predict", "m.model", "nan.csv"], "field 'age' is of kind number, but a value is '+nan'"),
        (["predict", "m.model", "late.csv"], "field 'opened' is of kind date, but a value is 'soon'"),
        (["train", "new.csv", *TRAIN, "--category", "body", "-o", "x.model"], "named twice"),
        (["train", "new.csv", *TRAIN, "--number", "queue", "-o", "x.model"], "as a number and as text or label"),
        (["train", "new.csv", *TRAIN, "--number", "product", "-o", "x.model"], "'product' of new.csv is named as a"),
        (["train", "new.csv", *TRAIN, "--text", "body", "-o", "x.model"], "'body' of new.csv is named as text twice"),
        (
            [
                "train",
                "new.csv",
                *OPTIONS[:4],
                "--set",
                "label-columns=prod*",
                "--category",
                "product",
                "-o",
                "x.model",
            ],
            "'product' of new.csv is named twice, as a category and as text or label",
        ),
        (["train", "new.csv", *TRAIN, "--fields", "none", "-o", "x.model"], "--fields none contradicts"),
        (
            ["train", "new.csv", *TRAIN, "--set", "message=body", "-o", "x.model"],
            ("message parts are read only from plain texts"),
        ),
        (["train", "new.csv", *TRAIN, "--category", "Product", "-o", "x.model"], "did you mean 'product'"),
        (["predict", "m.model", "new.csv", "--text", "product"], "'product' is named as a text, but the model reads"),
        (
            ["evaluate", "m.model", "new.csv", "--set", "vector=x=new.npy"],
            "'x' is named as a vector, but the model reads",
        ),
        (["predict", "m.model", "upper.csv"], "rename 'Product' to 'product'"),
        (
            ["filter", "m.model", "new.jsonl", "--class", "bug", "--above", "0.5", "--set", "id=body"],
            "--set of unnaive filter has no 'id'",
        ),
        (
            ["filter", "m.model", "new.jsonl", "--class", "bug", "--above", "0.5", "--confidence", "0.8"],
            "--confidence is used only with --recall",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(run, files, command, sentence):
    done(run("train", "old.csv", *TRAIN, "-m", "multinomial", "-o", "m.model"))
    done(run("train", "old.csv", "--label", "queue", "--text", "body", "-m", "multinomial", "-o", "plain.model"))
    rows = make_rows(5, seed=2)
    write(files / "less.csv", [{name: value for name, value in row.items() if name != "product"} for row in rows])
    write(files / "upper.csv", [{**row, "Product": row["product"], "product": None} for row in rows])
    upper = (files / "upper.csv").read_text(encoding="utf-8").replace("product", "gone", 1)
    (files / "upper.csv").write_text(upper, encoding="utf-8")
    write(files / "odd.csv", [row | {"age": "old"} for row in rows])
    write(files / "nan.csv", [row | {"age": "+nan"} for row in rows])
    write(files / "late.csv", [row | {"opened": "soon"} for row in rows])
    (files / "new.txt").write_text("refund please\n", encoding="utf-8")
    code, _, err = run(*command)
    assert (code, sentence in err, err.count("\n")) == (2, True, 1), err


def test_evident_fields_are_guessed_without_ids_and_leaks(run, files):
    rows = [row | {"code": row["queue"].upper()} for row in make_rows(80, seed=3)]
    write(files / "tickets.csv", rows)
    code, _, err = run(
        "train", "tickets.csv", "--label", "queue", "--text", "body", "--fields", "auto", "-o", "m.model"
    )
    assert code == 0
    line = (
        "read as fields: subject (text), product (category), age (number), opened (date); left out: ticket (nearly "
        "all values differ), code (reveals the label)"
    )
    assert f"note: tickets.csv: {line}\n" in err
    records = [{name: value for name, value in row.items() if name not in ("queue", "body")} for row in rows]
    with pytest.warns(UnnaiveWarning) as found:
        model = TextClassifier("multinomial", fields="auto").fit(records, [row["queue"] for row in rows])
    assert str(found[0].message) == line
    assert list(model.fields_) == ["subject", "product", "age", "opened"]
    assert list(TextClassifier("multinomial", fields=["code"]).fit(rows, [row["queue"] for row in rows]).fields_) == [
        "code"
    ]
    done(run("train", "tickets.csv", "--label", "queue", "--fields", "auto", "--category", "code", "-o", "m.model"))


def test_a_note_names_the_columns_that_would_help(run, files):
    rows = [row | {"region": "EMEA", "Tags": row["queue"][0]} for row in make_rows(200, seed=3)]
    for number, row in enumerate(rows):
        row["team"] = "" if number % 20 == 0 else "other" if number % 30 == 1 else row["queue"]
    write(files / "tickets.csv", rows)
    train = ["train", "tickets.csv", "--label", "queue", "-m", "multinomial", "-o"]
    code, out, err = run(*train, "m.model")
    assert (code, "text from body, labels" in out) == (0, True)
    assert err == (
        "note: tickets.csv: the model learns only from the text (body); --fields auto also learns from subject (text), "
        "age (number), team (category), which predictions then need; team predicts 98 % of the labels by itself: do "
        "not use it if it is only known after the label; --fields none hides this note\n"
    )
    for more in (["--fields", "none"], ["--text", "body"]):
        assert run(*train, "n.model", *more)[2] == ""
        assert (files / "n.model").read_bytes() == (files / "m.model").read_bytes()
    err = run(*train, "f.model", "--fields", "auto")[2]
    assert "; left out: ticket (nearly all values differ), region (has one value only); team predicts 98 %" in err
    assert TextClassifier.load(files / "f.model").token_rule.field_kinds["team"] == "category"


def test_soft_labels_are_no_fields(run, files):
    rows = [row | {f"p_{label}": float(row["queue"] == label) for label in WORDS} for row in make_rows(60, seed=3)]
    write(files / "soft.csv", [{name: value for name, value in row.items() if name != "queue"} for row in rows])
    command = ["train", "soft.csv", "--soft-labels", "p_*", "--fields", "auto", "-m", "multinomial", "-o", "m.model"]
    done(run(*command))
    kinds = TextClassifier.load(files / "m.model").token_rule.field_kinds
    assert list(kinds) == ["subject", "body", "product", "age", "opened"]


def test_plain_texts_are_read_as_the_main_text(run, files, monkeypatch):
    done(run("train", "old.csv", *TRAIN, "-m", "multinomial", "-o", "m.model"))
    (files / "lines.txt").write_text("my card was charged\nit stops\n", encoding="utf-8")
    code, out, err = run("predict", "m.model", "lines.txt")
    expected = TextClassifier.load(files / "m.model").predict(["my card was charged", "it stops"])
    assert (code, [line.split(",")[1] for line in out.splitlines()[1:3]]) == (0, list(expected))
    others = "subject, product, age, opened"
    assert f"lines.txt has only texts, which are read as body; the other fields ({others}) are unknown\n" in err
    assert "by field: text" in done(run("explain", "m.model", "my card was charged"))
    with (files / "lines.txt").open() as arriving:
        monkeypatch.setattr("sys.stdin", arriving)
        assert done(run("predict", "m.model", "-")).splitlines()[1:3] == out.splitlines()[1:3]
    done(run("train", "old.csv", "--label", "queue", "--fields", "auto", "-m", "multinomial", "--category", "body",
             "--category", "subject", "-o", "n.model"))  # fmt: skip
    assert "which the model reads as a field" in run("predict", "n.model", "lines.txt")[2]


@pytest.mark.slow
def test_the_same_records_by_every_entrance():
    rows = make_rows(50, seed=4)
    labels = [row["queue"] for row in rows]
    columns = {name: [row[name] for row in rows] for name in KINDS}
    forms = [rows, columns, {name: np.array(values, object) for name, values in columns.items()}]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    texts = {name: list(map(str, values)) for name, values in columns.items()}
    forms += [pandas.DataFrame(columns), polars.DataFrame(texts), pyarrow.table(texts)]
    expected = TextClassifier("nbsvm", fields=KINDS).fit(encode_records(columns, read_fields(KINDS)), labels)
    for records in forms:
        model = TextClassifier("nbsvm", fields=KINDS).fit(records, labels)
        assert np.array_equal(model.scores(records), expected.scores(rows))
        assert model.score(records, labels) == expected.score(rows, labels)
    never = TextClassifier("nbsvm", fields=KINDS).fit(rows[:30], labels[:30])
    model = copy.deepcopy(expected).forget(rows[30:], labels[30:])
    assert np.array_equal(model.scores(rows), never.scores(rows))
    assert np.array_equal(model.partial_fit(rows[30:], labels[30:]).scores(rows), expected.scores(rows))
    assert np.array_equal(copy.copy(expected).scores(rows), expected.scores(rows))


def test_saved_models_keep_their_fields(tmp_path):
    rows = make_rows(30, seed=5)
    model = TextClassifier("multinomial", fields=list(KINDS)).fit(rows, [row["queue"] for row in rows])
    assert model.fields_ | {"subject": "text", "body": "text"} == KINDS
    model.save(tmp_path / "m.model")
    again = TextClassifier.load(tmp_path / "m.model")
    assert again.get_params()["fields"] == model.fields_
    assert np.array_equal(again.scores(rows), model.scores(rows))


@pytest.mark.slow
def test_scikit_learn_takes_records():
    model_selection = pytest.importorskip("sklearn.model_selection")
    pandas = pytest.importorskip("pandas")
    rows = make_rows(40, seed=6)
    frame = pandas.DataFrame(rows)[list(KINDS)]
    search = model_selection.GridSearchCV(
        TextClassifier("multinomial", fields=KINDS), {"alpha": [0.1, 1.0]}, cv=2, error_score="raise"
    )
    assert search.fit(frame, [row["queue"] for row in rows]).best_score_ > 0.4


def test_empty_cells_are_evidence_and_unseen_values_are_named():
    rows = make_rows(60, seed=1)
    model = TextClassifier("nbsvm", fields=KINDS).fit(rows, [row["queue"] for row in rows])
    empty = model.explain(dict.fromkeys(KINDS))
    assert {item.term for item in empty.evidence} == {"age = (missing)", "product = (missing)"}
    assert (empty.label, empty.unknown_fields) == ("bug", ())
    unseen = {"subject": "refund", "body": "unheard", "product": "Scanner", "age": 7e9, "opened": "1999-01-01"}
    found = model.explain(unseen)
    assert found.by_field.keys() == {"subject", "opened"}
    assert found.unknown_fields == ("body", "product", "age")
    assert str(found).endswith("\nno evidence, because unknown: body, product, age")
    other = unseen | {"product": "Copier", "age": -1, "body": "nothing"}
    assert np.array_equal(model.scores([unseen]), model.scores([other]))


def test_a_record_by_hand():
    """Subject: its words shared and its own. Body, the last text: shared. No pair over a border."""
    model = TextClassifier("multinomial", fields=KINDS, ngrams=(1, 2))
    records = [
        {"subject": "Good ball", "body": "go", "product": "A b", "age": 3.5, "opened": "2024-03-05"},
        {"subject": "", "body": "fair vote", "product": None, "age": None, "opened": None},
    ]
    terms = set(model.fit(records, ["s", "p"]).vocabulary_)
    assert terms == {
        "good", "ball", "good ball", "subject:good", "subject:ball", "subject:good subject:ball", "go", "fair", "vote",
        "fair vote", "product=A\u00a0b", "product=(missing)", "age=[2,4)", "age=[3,4)", "age=[3.5,4)",
        "age=(missing)", "opened=2024", "opened=Mar", "opened=Tue", "opened=(missing)",
    }  # fmt: skip


def test_a_field_of_character_ngrams_by_hand(run, files):
    """A code has n-grams of its own, and the other texts keep their words."""
    records = [{"body": "go", "code": "AB-1"}, {"body": "vote", "code": "ab2"}]
    model = TextClassifier("nbsvm", fields={"body": "text", "code": "characters"}).fit(records, ["s", "p"])
    assert {term for term in model.vocabulary_ if "=_a" in term} == {
        "code=_a", "code=_ab", "code=_ab-", "code=_ab-1", "code=_ab2", "code=_ab2_",
    }  # fmt: skip
    shown = [one.term for one in model.explain(records[0], "s").evidence]
    assert "code = AB-1" in shown
    done(
        run(
            "train",
            "old.csv",
            "--label",
            "queue",
            "--text",
            "body",
            "--set",
            "characters=subject",
            "-m",
            "nbsvm",
            "-o",
            "c.model",
        )
    )
    assert "subject (characters)" in done(run("inspect", "c.model"))
    done(run("predict", "c.model", "new.csv"))


def test_values_cannot_begin_sections():
    fields = read_fields(["a:text", "b:category"])
    (record,) = encode_records({"a": ["x\x1eb\x1fy\x1fz"], "b": ["p\x1fq\x1e"]}, fields)
    assert shown_record(record) == "a: x b y z\nb: p q"
    assert record.count("\x1e") == 2


def test_fields_that_cannot_be_are_refused():
    for fields, sentence in (
        ({"a": "picture"}, "no kind of field called 'picture'"),
        ({}, "give kinds by name"),
        ({"a b": "text", "a_b": "text"}, "two fields are both called"),
    ):
        with pytest.raises(UnnaiveError, match=sentence):
            TextClassifier("multinomial", fields=fields).fit([{"a": "x"}, {"a": "y"}], ["p", "q"])
    with pytest.raises(BadData, match="no field 'b'"):
        TextClassifier("multinomial", fields={"b": "text"}).fit([{"a": "x"}, {"a": "y"}], ["p", "q"])
    assert section_modes(read_fields(["a:own"])) == {"a": 2}
    assert parse_date("31.12.2024 23:59")[0].month == 12
