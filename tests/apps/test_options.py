"""Every option is declared once: the command line, TextClassifier, completion and the pages are made from it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

from unnaive import TextClassifier, TokenRule
from unnaive.apps.cli.commands.train import SETTINGS_HELP
from unnaive.apps.cli.main import build_app, find_commands
from unnaive.apps.cli.word_options import OF_COLUMNS
from unnaive.apps.common.given_options import option_info
from unnaive.apps.common.shared_options import FIELD_OPTIONS, LABEL_OPTIONS, shared_defaults
from unnaive.base.errors import UnnaiveError
from unnaive.base.settings import declared_options
from unnaive.io.datafiles import DataFile
from unnaive.io.formats import FORMATS, WHOLE_FILES
from unnaive.io.read_options import COLUMN_OPTIONS, READ_OPTIONS, ReadOptions
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.models.catalogue import MODELS, find_model
from unnaive.text.token_rule import OPTIONS

ROOT = Path(__file__).parents[2]
ABBREVIATIONS = ("e.g.", "eq.")


def commands():
    """(name, command) of every command of the program."""
    group = get_command(build_app())
    return [("unnaive", group)] + [
        (" ".join(words), command)
        for name, verb in sorted(group.commands.items())
        for words, command in [
            ((name,), verb),
            *(((name, sub), one) for sub, one in getattr(verb, "commands", {}).items()),
        ]
    ]


COMMANDS = commands()
HELP = [
    pytest.param(one.help, id=f"{name}-{one.name}")
    for name, command in COMMANDS
    for one in command.params
    if not getattr(one, "hidden", False) and one.name not in ("help", "install_completion", "show_completion")
]
DECLARED = [
    pytest.param(one.doc, id=f"{owner}-{name}")
    for owner, declared in [
        ("TokenRule", OPTIONS), ("ReadOptions", READ_OPTIONS), ("ColumnOptions", COLUMN_OPTIONS),
        ("TrainingOptions", TRAINING_OPTIONS),
        *((name, find_model(name).declared()) for name in sorted(MODELS)),
    ]
    for name, one in declared.items()
]  # fmt: skip


@pytest.mark.parametrize("sentence", HELP + DECLARED)
@pytest.mark.slow
def test_help_is_one_short_sentence(sentence):
    assert sentence
    assert sentence.endswith(".")
    assert len(sentence) < 120
    for word in ABBREVIATIONS:
        sentence = sentence.replace(word, "")
    assert not re.search(r"[.?!] ", sentence)
    assert "…" not in sentence


def parameters(name):
    """The options of a command by parameter, those that --set gives too: help, default and names as declared."""
    given = dict(COMMANDS)[name].callback.given_options.by_set.values()
    settings = {
        one.parameter.name: SimpleNamespace(
            help=option_info(one.parameter).help, default=one.parameter.default, opts=[f"--{one.name}"], by_set=True
        )
        for one in given
    }
    return settings | {one.name: one for one in dict(COMMANDS)[name].params}


@pytest.mark.parametrize("verb", ["train", "compare", "audit"])
def test_token_options_of_commands_are_the_fields_of_the_rule(verb):
    options = parameters(verb)
    for name, one in OPTIONS.items():
        if name in OF_COLUMNS:  # said by the options of columns
            continue
        assert options[name].help == one.doc
        default = {"ngrams": "1", "char_ngrams": "2-5"}.get(name, one.default)
        assert options[name].default == default


def test_reading_options_are_the_fields_that_are_read_into():
    options, defaults = parameters("audit"), shared_defaults()
    declared = READ_OPTIONS | COLUMN_OPTIONS
    assert set(defaults) <= set(declared)
    assert {name: options[name].help for name in defaults} == {name: declared[name].doc for name in defaults}
    file = DataFile("a.csv")
    for name, value in defaults.items():
        expected = getattr(file, name) if name in COLUMN_OPTIONS else getattr(ReadOptions(), name)
        assert value == (expected or None if isinstance(expected, tuple) else expected), name


def test_commands_that_read_a_model_have_no_options_of_its_fields():
    for verb in ("predict", "evaluate", "update", "forget", "compress", "plot", "filter"):
        assert not set(FIELD_OPTIONS) & set(parameters(verb)), verb
    assert "NAME=FILE.npy" in parameters("predict")["vector"].help
    assert not {"vector", "id"} & set(parameters("filter"))
    assert not {"label", *LABEL_OPTIONS} & set(parameters("predict"))


def test_formats_are_those_that_can_be_read():
    assert set(COLUMN_OPTIONS["format"].choices) == {*FORMATS, *WHOLE_FILES}
    assert all(name in COLUMN_OPTIONS["format"].doc for name in COLUMN_OPTIONS["format"].choices)


@pytest.mark.parametrize(
    ("option", "field"),
    [(name, name) for name in ("min_df", "select", "decision", "calibrate", "optimise", "class_weight")]
    + [("documents_limit", "documents_limit"), ("seed", "random_state")],
)
def test_training_options_of_the_command_line_are_declared(option, field):
    one = TRAINING_OPTIONS[field]
    found = parameters("train")[option]
    assert found.help == one.doc
    assert found.opts == list(one.flags or [f"--{field.replace('_', '-')}"])
    assert found.default == ("500MB" if field == "documents_limit" else one.default)
    if field not in ("n_jobs", "multilabel"):
        assert getattr(TrainingSpec(find_model("multinomial")()), field) == one.default


def test_settings_with_an_option_of_their_own_have_the_models_sentence():
    declared = find_model("multinomial").declared() | find_model("auto").declared()
    assert {name: declared[name].doc for name in SETTINGS_HELP} == SETTINGS_HELP
    assert {name: parameters("train")[name].help for name in SETTINGS_HELP} == SETTINGS_HELP


def test_the_constructor_is_written_from_the_declarations():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "classifier_signature.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    signature = list(inspect.signature(TextClassifier).parameters)
    assert signature == ["model", *OPTIONS, *TRAINING_OPTIONS, "settings"]


def test_docstrings_have_the_sentences_and_defaults_of_the_declaration():
    for owner, declared in (
        (TextClassifier, OPTIONS | TRAINING_OPTIONS), (TokenRule, OPTIONS), (ReadOptions, READ_OPTIONS),
    ):  # fmt: skip
        text = " ".join(inspect.getdoc(owner).split())
        for name, one in declared.items():
            assert re.search(rf"\b{name} : [^:]*, default={re.escape(repr(one.default))} {re.escape(one.doc)}", text), (
                name
            )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"min_length": 0}, "min_length of TokenRule came as 0; give a number from 1"),
        ({"min_length": 2.0}, "min_length of TokenRule came as 2.0; give a whole number, such as 2"),
        ({"digits": "yes"}, "digits of TokenRule came as 'yes'; give true or false, such as True"),
        ({"analyzer": "chars"}, "no analyzer called 'chars'; there are both, char, word; did you mean 'char'?"),
        ({"stem": "portre"}, "no stemmer called 'portre'; there are porter, snowball; did you mean 'porter'?"),
    ],
)
def test_declared_types_and_ranges_are_checked(values, sentence):
    with pytest.raises(UnnaiveError, match=f"^{re.escape(sentence)}$"):
        TokenRule(**values)


def test_numbers_of_numpy_become_plain():
    import json

    import numpy as np

    rule = TokenRule(min_length=np.int64(3), digits=np.bool_(False))
    assert rule == TokenRule(min_length=3, digits=False)
    assert json.loads(json.dumps(rule.to_dict()))["min_length"] == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("unnaive train --calibrate p", {"platt"}),
        ("unnaive predict --format js", {"jsonl"}),
        ("unnaive train --max", {"--max-size"}),
    ],
)
def test_completion_knows_names_and_choices(words, expected, monkeypatch, capsys):
    monkeypatch.setenv("_UNNAIVE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        build_app(find_commands(words.split()[1:2]))(prog_name="unnaive")
    assert set(capsys.readouterr().out.split()) == expected


def test_declared_options_are_those_of_a_dataclass():
    assert list(declared_options(TokenRule)) == list(TokenRule.field_names())
