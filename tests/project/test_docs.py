"""Pages of docs/ that are made from something else say what that says; test_pages.py runs the code of all pages."""

import ast
import importlib
import importlib.util
import inspect
import json
import logging
import re
import shutil
from pathlib import Path

import pytest

import unnaive
from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS

DOCS = Path(__file__).parents[2] / "docs"
TOOLS = Path(__file__).parents[2] / "tools"


def test_the_page_on_networks_runs(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "networks.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    shown = capsys.readouterr().out
    assert shown.startswith("('tariff', 'vessel', 'trade')\nnetwork unnaive {")
    assert "[[0.25 0.75]]" in shown
    assert "'CMDL'" in shown


def test_the_accuracy_of_auto_with_all_training_documents_is_the_same_on_both_pages():
    models, curves = (json.loads((DOCS / f"{name}.json").read_text()) for name in ("models", "learning-curves"))
    for name in ("tickets", "webkb4", "r8", "ohsumed", "banking77"):  # the others are split at random
        measured = models["collections"]["reuters:r8" if name == "r8" else name]["auto"]["accuracy"]
        assert curves[name]["100"]["auto"] == [pytest.approx(measured, abs=5e-5)], name


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_page_on_spark_runs(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "spark.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    names["spark"].stop()
    shown = capsys.readouterr().out
    page = (DOCS / "spark.md").read_text(encoding="utf-8")
    assert shown.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", page, re.MULTILINE)


def test_the_page_on_models_names_every_model_and_class():
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    for model in MODELS:
        assert f"`{model}`" in page, model
    for name in re.findall(r"`([A-Z]\w+)`", page):
        assert hasattr(unnaive, name), name


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_table_of_models_is_what_its_figures_give():
    tool, page = load_tool("model_table"), (DOCS / "models.md").read_text(encoding="utf-8")
    content = tool.read_figures()
    assert tool.render_page(page, content) == page, "run: python tools/model_table.py"
    assert list(tool.COLLECTIONS) == sorted(content["collections"], key=list(tool.COLLECTIONS).index)
    for collection, figures in content["collections"].items():
        assert {*tool.CONTENDERS, *tool.PEERS, tool.FASTTEXT} <= set(figures), collection
    assert content["machine"] in page


def test_the_picture_of_the_steps_is_what_its_script_draws():
    tool = load_tool("spine_picture")
    assert tool.PLACE.read_text(encoding="utf-8") == tool.draw(), "run: python tools/spine_picture.py"
    source = Path(unnaive.__file__).parent
    for *_, where in tool.BOXES.values():
        assert (source / where).exists(), where


def test_the_picture_of_auto_is_what_its_script_draws():
    tool = load_tool("auto_picture")
    assert tool.PLACE.read_text(encoding="utf-8") == tool.draw(), "run: python tools/auto_picture.py"


def test_the_figures_are_drawn_from_what_was_measured():
    tool = load_tool("figures")
    for name, svg in tool.draw_all().items():
        assert (tool.ASSETS / name).read_text(encoding="utf-8") == svg, "run: python tools/figures.py"
        pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
        assert any(f"assets/{name}" in page.read_text(encoding="utf-8") for page in pages), name


def test_the_tables_of_performance_are_those_of_the_benchmarks():
    tool, page = load_tool("performance"), (DOCS / "performance.md").read_text(encoding="utf-8")
    written = tool.render_page(page, tool.BENCHMARKS.read_text(encoding="utf-8"))
    assert page == written, "run: python tools/performance.py"


def test_the_page_of_reproductions_is_what_its_figures_and_the_papers_give():
    tool = load_tool("reproductions")
    page = tool.render_page(tool.read_figures())
    assert (DOCS / "reproductions.md").read_text(encoding="utf-8") == page, "run: python tools/reproductions.py"
    for missing in ("raw", "Industry Sector", "7 Sectors", "Job Category", "Ohsumed with 20,000"):
        assert missing in page


FIGURE = re.compile(  # what looks measured: 93.1 %, 4.2×, 20 MB, 3 ms, .927
    r"(?<![\w.#/-])(?:\d[\d,]*(?:\.\d+)? ?%|\d+(?:\.\d+)?×(?! \d)|\d+(?:\.\d+)? (?:[kMG]B|ms|µs|s|points?)\b"
    r"|\.\d{2,4}\b)"
)
SOURCE = re.compile(  # a command or a script between backticks, or a page that is written by one
    r"`[^`\n]*(?:(?:tools|benchmarks|examples)/\w+\.py|make \w+|unnaive \w+)[^`]*`"
    r"|`(?:train|predict|evaluate|audit|compare|label|compress|reproduce) [^`]*`"
    r"|\]\((?:\.\./)?(?:performance|statistics|reproductions|models|learning-curves|benchmarks)\.md"
)
WRITTEN = re.compile(
    r"[Ww]ritten by `?(?:python |make )?\w|writes this page"
)  # at the top of a page that a script makes
OF_OTHERS = {("guides/from-fasttext.md", "Language identification")}  # the sizes of files that others offer


def test_every_section_with_figures_names_what_prints_them():
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        first, *sections = re.split(r"(?m)^#{2,} ", text)
        if name.startswith("reference/") or WRITTEN.search(first):
            continue
        for section in (first, *sections):
            title, figures = section.split("\n")[0], FIGURE.findall(section)
            named = SOURCE.search(section) or (name, title) in OF_OTHERS
            assert not figures or named, f"{name}, {title!r}: what prints {', '.join(figures[:5])}?"


def test_every_printed_figure_has_at_most_one_mark():
    """159 cells of the higher-order paper, beside 72 gains that derive from them, and 108 of the or-gate paper."""
    tool = load_tool("reproductions")
    assert {key: tool.count_printed(tool.read_paper(key)) for key in ("higher-order", "or-gate")} == {
        "higher-order": 159,
        "or-gate": 108,
    }


def test_a_third_party_rebuilds_predictions_from_the_page_on_the_model_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = load_tickets()
    texts, labels = list(corpus.texts), [label for (label,) in corpus.labels]
    model = TextClassifier("multinomial").fit(texts[:600], labels[:600])
    model.save("tickets.model")
    page = (DOCS / "model-file.md").read_text(encoding="utf-8")
    block, checksums = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) <= 18  # three of them imports
    names = {}
    exec(block, names)
    exec(checksums, names)  # which compares those in the file
    assert names["about"]["checksums"]
    assert [names["predict"](text) for text in texts[600:]] == model.predict(texts[600:]).tolist()


def test_the_python_reference_has_every_public_name():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (.+)$", page, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    public = {f"unnaive.{name}" for name in dir(unnaive)} - {"unnaive.__version__", "unnaive.backend"}
    public |= {f"unnaive.spark.{name}" for name in dir(importlib.import_module("unnaive.spark"))}
    assert public <= set(listed), public - set(listed)
    for name in listed:
        module, _, last = name.rpartition(".")
        if module != "unnaive.spark":  # whose names need pyspark
            assert getattr(importlib.import_module(module), last).__doc__, name


@pytest.mark.parametrize("name", ["TextClassifier", *(place.split(":")[1] for place in MODELS.values())])
def test_the_python_reference_shows_the_defaults_of_parameters(name):
    griffe = pytest.importorskip("griffe")
    logging.getLogger("griffe").setLevel(logging.ERROR)  # it would like a type for every field
    one = getattr(unnaive, name)
    text = load_tool("reference_docstrings").lay_out(inspect.getdoc(one))
    sections = griffe.Docstring(text, lineno=1).parse("numpy")
    (shown,) = [section.value for section in sections if section.kind.value == "parameters"]
    defaults = {parameter.name: parameter.value for parameter in shown if "*" not in parameter.name}
    for parameter, given in inspect.signature(one).parameters.items():
        if given.default is not inspect.Parameter.empty:
            assert ast.literal_eval(defaults[parameter]) == given.default, parameter


@pytest.mark.slow
def test_the_command_reference_is_what_the_program_says():
    tool = load_tool("command_reference")
    assert tool.PLACE.read_text(encoding="utf-8") == tool.reference(), "run: python tools/command_reference.py"


def test_rows_of_the_command_reference_have_two_cells():
    rows = [
        line for line in load_tool("command_reference").PLACE.read_text(encoding="utf-8").splitlines() if "|" in line
    ]
    assert len(rows) > 300
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 3, row


def test_figures_name_every_model_and_tool():
    tool = load_tool("figures")
    for name in ("accuracy-time.svg", "accuracy-time-all.svg"):
        svg = (DOCS / "assets" / name).read_text(encoding="utf-8")
        for mark, colour in (("circle", tool.OURS), ("rect", tool.THEIRS)):
            n_points = len(re.findall(f'<{mark} [^>]*"{colour}"', svg)) - 1  # without the legend
            assert n_points > 4
            assert len(re.findall(f'<text [^>]*"{colour}"', svg)) == n_points, (name, mark)
