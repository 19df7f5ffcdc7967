"""What comes from outside never commands the terminal: control characters are shown as escapes, wherever they stand."""

import json
import os
import pty
import subprocess
import sys

import pytest

from unnaive import TextClassifier
from unnaive.base.visible_text import visible, visible_json
from unnaive.io.writing.csv_writer import without_formula

ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil\u202c \u2066x\u2069 \x7f"
FORBIDDEN = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u202c", "\u2066", "\u2069"]
LABEL = f"spam{ESCAPES}"


def run_in_terminal(*arguments):
    """What a terminal gets of a command: stdout and stderr on one."""
    main, sub = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "unnaive", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=sub, stderr=sub,
        env=os.environ | {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(sub)
    got = b""
    while True:
        try:
            part = os.read(main, 1 << 16)
        except OSError:  # how a terminal says that nobody writes any more
            break
        if not part:
            break
        got += part
    child.wait()
    os.close(main)
    return got.decode("utf-8").replace("\r\n", "\n")


def check(text):
    assert not [one for one in FORBIDDEN if one in text and one not in "\n\t"]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "evil\x1b[31m.model"
    texts = ["buy now cheap", "see you at noon"] * 3
    TextClassifier("multinomial").fit(texts, [LABEL, "ham"] * 3).save(path)
    return path


@pytest.mark.slow
def test_predictions(model):
    shown = run_in_terminal("predict", model, "-d", f"buy {ESCAPES} cheap")
    check(shown)
    assert "\\x1b[31m" in shown
    check(run_in_terminal("predict", model, "-d", f"buy {ESCAPES}", "--explain"))
    check(run_in_terminal("predict", model, "-d", f"buy {ESCAPES}", "--json"))


@pytest.mark.slow
def test_explanations_and_cards(model):
    for words in (("explain", model, f"buy {ESCAPES} cheap"), ("inspect", model), ("inspect", model, "--json")):
        shown = run_in_terminal(*words)
        check(shown)
        assert "red" in shown


@pytest.mark.slow
def test_a_file_of_csv_that_is_a_terminal(model, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text(f"text,label\nbuy {ESCAPES},ham\n", encoding="utf-8")
    check(run_in_terminal("predict", model, data, "-o", "/dev/stdout"))
    check(run_in_terminal("evaluate", model, data))
    check(run_in_terminal("update", model, data))


@pytest.mark.slow
def test_errors(tmp_path, model):
    missing = run_in_terminal("predict", tmp_path / "no\x1b[2J\nunnaive: all is well")
    check(missing)
    assert "\\x1b[2J\\nunnaive" in missing
    check(run_in_terminal("explain", model, "text", "--class", f"no{ESCAPES}"))
    check(run_in_terminal("predict", model, "--no-such", f"{ESCAPES}"))


def test_json_gives_back_the_same_value():
    value = {"label": LABEL, "half": "\ud800"}
    words = visible_json(value)
    check(words)
    assert json.loads(words) == value


def test_what_is_visible_is_left_alone():
    text = "naïve ışık 中文 हिन्दी עברית 👩\u200d👩\u200d👧 \t\n"
    assert visible(text) == text


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_formulas_are_made_text(cell):
    assert without_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-0.53", "+1e-09", "-inf", "nan", "3", "", "a=b", "spam"])
def test_numbers_and_words_stay(cell):
    assert without_formula(cell) == cell


@pytest.mark.slow
def test_excel_safe_output(tmp_path):
    path, out = tmp_path / "x.model", tmp_path / "out.csv"
    TextClassifier("multinomial").fit(["buy", "see"], ["=HYPERLINK(0)", "ham"]).save(path)
    run_in_terminal("predict", path, "-d", "buy", "-o", out, "--set", "excel-safe=true")
    assert out.read_text().splitlines()[1].startswith("1,'=HYPERLINK(0),")
