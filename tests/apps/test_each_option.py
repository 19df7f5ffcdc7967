"""No option does nothing: each, given alone, changes the result of its command on a small set-up, or is refused."""

import csv
import hashlib
import json
import re
import shutil
from pathlib import Path
from random import Random

import pytest
from typer.main import get_command

from unnaive.apps.cli.main import build_app, exit_code

pytestmark = pytest.mark.slow  # about 300 runs

WORDS = {
    "Sport": ["goal", "ball", "match", "team", "win", "late", "score", "Über", "goal"],
    "politics": ["vote", "law", "minister", "budget", "party", "tax", "war", "café", "law"],
    "food": ["soup", "pasta", "garlic", "oven", "dish", "salt", "bread", "Crème", "salt"],
}
ODD = ["the", "a", "of", "to", "<b>and</b>", "don't", "A1", "x", "42", "I", "😀", "日本語", "running", "+"]

# what is expected to leave the result as it is
NEUTRAL = {
    "jobs": "the number of threads never changes a result",
    "unbuffered": "decides when lines are written",
    "engine": "Spark is tested in tests/scaleout",
    "id": "names documents in reports of mistakes; training and tables with other columns do not need it",
}

# the words that give an option, by its parameter; others are found by the name of --set
READING = {
    "delimiter": "--set delimiter=;", "header": "--set header=false", "table": "--set table=t",
    "label_columns": "--set label-columns=x", "label_prefix": "--set label-prefix=q:",
    "lower_labels": "--set lower-labels=true", "max_line": "--set max-line=20B", "separator": "--label-separator :",
    "follow_links": "--set follow-links=true", "encoding": "--set encoding=utf-16", "format": "--format mbox",
    "ignore_label": "--set ignore-label=q:food", "text": "--text note", "label": "--label kind",
    "vector": "--vector age", "category": "--category kind", "number": "--number age", "date": "--date day",
    "characters": "--set characters=note", "fields": "--fields auto", "skip_bad": ("BAD", "--set skip-bad=true"),
}  # fmt: skip
TOKENS = {
    "analyzer": "char", "char_borders": "none", "char_ngrams": "2-3", "digits": "false", "emoji": "false",
    "language": "tr", "lowercase": "false", "message": "subject-body", "min_length": "3", "ngrams": "1-2",
    "segmenter": "jieba", "stem": "porter", "stopwords": "en", "strip_html": "true", "symbols": "true",
    "unspaced": "word",
}  # fmt: skip
COMMANDS = {
    "train": ("train DATA -o out.model -m multinomial --label label --text text", {
        **READING, "budget": "--budget fast", "cache": "--set cache=cache", "calibrate": "--calibrate temperature",
        "checkpoint": "--set checkpoint=folder", "checkpoint_every": "--set checkpoint-every=1M",
        "class_weight": "--set class-weight=balanced", "decision": "--set decision=rcut",
        "documents_limit": "--set documents-limit=5", "master": "--set master=local[1]", "ship": "--set ship=true",
        "frozen": "--frozen", "holdout": "--holdout 0.3", "key": "--key key", "max_size": "--max-size 1kB",
        "memory": "--memory 1MB", "min_df": "--set min-df=2", "model": "-m complement",
        "optimise": "--set optimise=macro-f1", "output": "-o other.model", "register": "--register",
        "seed": "--seed 3 --holdout 0.3", "select": "--set select=3", "soft_labels": "--soft-labels p_x",
        "test": "--test new.csv", "word_vectors": "--word-vectors vectors.txt", "as_json": "--json",
    }),
    "predict": ("predict c.model new.csv", {
        **READING, "delimiter": "--set delimiter=;", "as_json": "--json", "at_least_one": "--at-least-one",
        "by_class": "--by-class", "coverage": "--coverage 0.9", "document": "-d goal", "every": "--all",
        "excel_safe": "--json --set excel-safe=true", "explain": "--explain",
        "keep_columns": "--set keep-columns=false", "master": "--set master=local[1]", "ship": "--set ship=true",
        "min_probability": "--min-probability 1", "out_of_scope_rate": "--out-of-scope-rate 0.3", "top_k": "--top-k 2",
        "undecided": ("unknown.csv", "--undecided no"), "output": "-o out.csv", "text": "--text note",
    }),
    "evaluate": ("evaluate c.model DATA", {
        **READING, "as_json": "--json", "at_least": ("more.csv", "--at-least 1.5"), "every": "--all",
        "confidence": "--confidence 0.6", "master": "--set master=local[1]", "measure": "--measure auc",
        "out_of_scope": "--out-of-scope unknown.csv", "report": "--report out.md", "ship": "--set ship=true",
        "target_accuracy": "--target-accuracy 0.5",
    }),
    "explain": ("explain c.model goal", {
        "against": "--against q:food", "label": "--class q:food", "report": "--report out.html", "as_json": "--json",
    }),
    "inspect": ("inspect c.model", {
        "terms": "--terms 2", "label": "--class q:food", "network": "--network q:food", "members": "--members nonsense",
        "output": "-o out.bif", "as_json": "--json",
    }),
    "update": ("update m.model DATA -o out.model", {
        **READING, "as_json": "--json", "batch": "--set batch=5", "every": "--set every=2", "follow": "--follow",
        "key": "--key key", "new_classes": ("more.csv", "--new-classes"), "output": "-o other.model",
        "search": "--search keep",
    }),
    "forget": ("forget both.model new.csv -o out.model", {
        **READING, "as_json": "--json", "key": "--key key", "output": "-o other.model", "receipt": "--receipt out.json",
        "search": "--search keep", "sign": "--sign key",
    }),
    "merge": ("merge m.model c.model -o out.model", {
        "output": "-o other.model", "search": "--search keep", "as_json": "--json",
    }),
    "remake": ("remake m.model -o out.model --set alpha=0.5", {
        "output": "-o other.model", "as_json": "--json", "name": "-m complement",
    }),
    "compress": ("compress m.model -o out.model --max-size 2500B", {
        **READING, "as_json": "--json", "max_size": "--max-size 2000B", "output": "-o other.model",
    }),
    "filter": ("filter c.model new.jsonl -o out.jsonl --class q:food --above 0.3 --text text", {
        **READING, "above": "--above 0.999", "as_json": "--json", "confidence": "--confidence 0.8",
        "held_out": "--held-out new.csv", "keep": "--class q:Sport", "output": "-o other.jsonl",
        "recall": "--recall 0.5", "report": "--report out.html", "skip_bad": None, "encoding": None,
    }),
}  # fmt: skip
# where a value is None: it depends on a damaged file, which other commands try


def make_rows(n, seed):
    """Rows of a table with a text, a label, and columns of every kind."""
    random = Random(seed)
    for number in range(n):
        label = list(WORDS)[number % 3]
        words = [random.choice(WORDS[label]) for _ in range(6)] + random.sample(ODD, 4)
        random.shuffle(words)
        yield {
            "nr": f"d{number}", "text": f"Subject: {' '.join(words)}", "note": random.choice(["short", "other words"]),
            "label": f"q:{label}", "kind": random.choice(["red", "blue"]), "age": str(random.randint(1, 90)),
            "day": f"2024-0{random.randint(1, 9)}-11", "x": str(number % 2), "p_x": "0.25" if number % 2 else "1",
        }  # fmt: skip


def write(name, rows):
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, new = list(make_rows(36, 1)), list(make_rows(12, 2))
    write("data.csv", data)
    write("new.csv", new)
    write("both.csv", data + new)
    write("more.csv", [*new, data[0] | {"label": "q:art"}, data[1] | {"label": "Q:Sport"}])
    write("unknown.csv", [data[0] | {"text": "zzz yyy xxx"}, data[1]])
    Path("bad.csv").write_text(Path("data.csv").read_text(encoding="utf-8") + "one,cell\n", encoding="utf-8")
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in new), encoding="utf-8")
    Path("vectors.txt").write_text("goal 0.1 0.2\nlaw 0.9 0.4\nsoup 0.5 0.5\n", encoding="utf-8")
    Path("key").write_text("a secret of at least thirty-two bytes\n", encoding="utf-8")
    columns = "--label label --text text"
    run(capsys, f"train data.csv -o m.model -m multinomial {columns}")
    run(capsys, f"train both.csv -o both.model -m multinomial {columns}")
    run(capsys, f"train data.csv -o c.model -m multinomial --calibrate temperature {columns}")
    return set(Path().rglob("*"))


def run(capsys, words):
    code = exit_code(words.split())
    return (code, *capsys.readouterr())


def outcome(capsys, words, there):
    """(exit code, what was printed, what was written), after which the folder is as before."""
    code, out, err = run(capsys, words)
    printed = [re.sub(r"\b\d[\d.]* m?s\b|in \d[\d.]* s|\d+ documents per second", "", text) for text in (out, err)]
    written = {}
    for path in set(Path().rglob("*")) - there:
        if path.is_file():
            written[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in set(Path().iterdir()) - there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return code, printed, written


def given_words(base, words):
    """The command with an option, in place of the base's own value of it."""
    flag, parts = words.split()[0], base.split()
    if flag in parts and flag != "--set":
        at = parts.index(flag)
        parts[at : at + 2] = []
    return " ".join([*parts, words])


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_changes_the_result_or_is_refused(name, folder, capsys):
    base, values = COMMANDS[name]
    if name == "train":
        values = values | dict.fromkeys(TOKENS)
    options = get_command(build_app((name,))).commands[name].callback.given_options.by_parameter
    assert set(options) <= {*values, *NEUTRAL}, "a new option needs words here, or a reason in NEUTRAL"
    plain = base.replace("DATA", "new.csv" if name != "train" else "data.csv")
    outcomes = {plain: outcome(capsys, plain, folder)}
    assert outcomes[plain][0] == 0, outcomes[plain]
    without_effect = []
    for key, option in options.items():
        words = values.get(key)
        if key in TOKENS and words is None:
            words = f"{option.flag} {TOKENS[key]}" if option.flag else f"--set {option.name}={TOKENS[key]}"
        if key in NEUTRAL or words is None:
            continue
        command = plain
        if isinstance(words, tuple):  # it has an effect on other data only
            data, words = words
            command = base.replace("DATA", "bad.csv" if data == "BAD" else data)
            command = command.replace("new.csv", "bad.csv" if data == "BAD" else data)
        if words.startswith("--set ") and option.flag:
            words = f"{option.flag} {words.partition('=')[2]}"
        elif not option.flag and words.startswith(f"--{option.name}"):
            words = f"--set {option.name}={words.split()[-1]}"
        if command not in outcomes:
            outcomes[command] = outcome(capsys, command, folder)
        found = outcome(capsys, given_words(command, words), folder)
        if found == outcomes[command]:
            without_effect.append(words)
        elif found[0] != 0:
            (code, (_, err), _) = found
            assert code in (1, 2), (words, found)
            assert err.splitlines()[-1].startswith("unnaive: "), (words, err)
    assert without_effect == []
