"""What the command line promises of its options: few, each with an effect, the rest by --set or from a file."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from typer.main import get_command

from unnaive import TextClassifier
from unnaive.apps.cli.main import build_app, exit_code
from unnaive.apps.cli.unknown_options import OTHER_NAMES
from unnaive.apps.common.given_options import check_given, holds
from unnaive.base.errors import UnnaiveError

NOT_COUNTED = {"--help", "--quiet", "--jobs"}  # of every command, and the number of threads
MOST, MOST_OF_ONE = 300, 30
ROWS = [("a goal and a ball", "sport"), ("the vote on a law", "politics")] * 8


def commands():
    """(name, command) of the program, of every command and of every subcommand."""

    def walk(command, name):
        yield name, command
        for word, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {word}".strip())

    yield from walk(get_command(build_app()), "")


COMMANDS = dict(commands())
DECLARED = {
    name: command.callback.given_options
    for name, command in COMMANDS.items()
    if hasattr(command.callback, "given_options")
}


def options_of(command):
    names = [max(one.opts, key=len) for one in command.params if one.param_type_name == "option"]
    return [name for name in names if name not in NOT_COUNTED]


def test_there_are_few_options():
    """Hidden ones are counted too."""
    sizes = {name: len(options_of(command)) for name, command in COMMANDS.items()}
    assert sum(sizes.values()) <= MOST, sizes
    assert {name: size for name, size in sizes.items() if size > MOST_OF_ONE} == {}


def test_conditions_name_options_and_arguments_that_there_are():
    for name, options in DECLARED.items():
        known = {*options.by_parameter, *(one.name for one in COMMANDS[name].params)}
        for parameter, one in options.by_parameter.items():
            named = [condition.partition("=")[0] for need in one.needs for condition in need.conditions]
            assert {*named, *one.excludes} <= known, (name, parameter)


def test_pairs_of_options_are_needed_refused_or_independent():
    """Of each command, every pair: both given and all else at its default, the check decides by the declarations."""
    kinds = {"needed": 0, "refused": 0, "independent": 0}
    for name, options in DECLARED.items():
        for first, second in combinations(options.by_parameter, 2):
            values = {key: one.parameter.default for key, one in options.by_parameter.items()}
            for key in (first, second):
                values[key] = value_for(options.by_parameter[key], options)
            problem = refused(options, values, [first, second])
            one, other = options.by_parameter[first], options.by_parameter[second]
            excluded = second in one.excludes or first in other.excludes
            unmet = [
                need
                for member in (one, other)
                for need in member.needs
                if not any(holds(condition, values, [first, second]) for condition in need.conditions)
            ]
            assert (problem is not None) == bool(excluded or unmet), (name, first, second, problem)
            kinds["refused" if excluded else "needed" if one.needs or other.needs else "independent"] += 1
    assert all(kinds.values()), kinds


def value_for(option, options):
    """A value that is given: of a choice that another option needs, this one."""
    name = option.parameter.name
    wanted = [
        condition.partition("=")[2]
        for other in options.by_parameter.values()
        for need in other.needs
        for condition in need.conditions
        if condition.startswith(f"{name}=")
    ]
    return next((value for value in wanted if value), "given")


def refused(options, values, given):
    try:
        check_given(options, values, given)
    except UnnaiveError as problem:
        return str(problem)
    return None


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS), encoding="utf-8")

    def command(*words):
        code = exit_code([str(word) for word in words])
        return (code, *capsys.readouterr())

    return command


@pytest.fixture
def model(run):  # after its change of folder
    TextClassifier("multinomial").fit(*zip(*ROWS, strict=True)).save("m.model")
    return "m.model"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("train data.csv -o x.model --set checkpoint-every=1M", "--set checkpoint-every has an effect only with"),
        ("train data.csv -o x.model -m nbsvm --budget fast", "--budget has an effect only with --model auto"),
        (
            "train data.csv -o x.model --set char-ngrams=2-3",
            "--set char-ngrams has an effect only with --set analyzer=char",
        ),
        ("train data.csv -o x.model --set master=yarn", "--set master has an effect only with --engine spark"),
        ("train data.csv -o x.model --key k", "--key has an effect only with --register"),
        ("predict m.model data.csv --by-class", "--by-class has an effect only with --coverage"),
        ("predict m.model data.csv --json --set excel-safe=true", "--set excel-safe is for CSV files"),
        ("evaluate m.model data.csv --confidence 0.95", "--confidence has an effect only with --target-accuracy"),
        ("inspect m.model --members nonsense", "--members has an effect only with --network"),
        ("update m.model data.csv --set every=3", "--set every has an effect only with --follow"),
        ("compare data.csv --folds 2 --splits 3", "--splits and --folds contradict each other"),
        ("compare tickets:queue --models multinomial --splits 3", "tickets has its own split, which is one"),
        ("clean data.csv f.csv -o c.csv --min-score 0.5", "--min-score has an effect only with --accept"),
        ("label data.csv -o l.db --terminal --port 80", "--port and --terminal contradict each other"),
        ("train data.csv -o x.model --set label=label", "--set label=label is --label of unnaive train"),
        ("train data.csv -o x.model --set encodng=utf-8", "did you mean 'encoding'?"),
        ("train data.csv -o x.model -m multinomial --set alhpa=1", "did you mean 'alpha'?"),
        ("train data.csv -o x.model --set skip-bad=maybe", "--set skip-bad is 'maybe'; give true or false"),
        ("evaluate m.model data.csv --report page.doc", "give a name that ends with .html or .md or .json"),
    ],
)
@pytest.mark.usefixtures("model")
def test_what_would_do_nothing_is_refused(run, words, sentence):
    code, out, err = run(*words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
    assert not Path("x.model").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("train data.csv -o x.model --label label --label text", "--label came twice"),
        ("train data.csv -o x.model --output y.model -o z.model", "--output came 3 times"),
        ("train data.csv -o x.model -m nbsvm --set C=1 --set C=2", "--set C came twice"),
        ("train data.csv -o x.model --set min-df=1 --set min_df=2", "--set min-df came twice"),
        ("train data.csv -o x.model --options twice.toml", "--seed came twice"),
    ],
)
def test_an_option_of_one_value_is_given_once(run, words, name):
    """Taking the last in silence would hide a slip in a long command."""
    Path("twice.toml").write_text("seed = [1, 2]\n", encoding="utf-8")
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err == f"unnaive: {name}, and unnaive train takes one value for it; give it once\n"
    assert list(Path().glob("*.model")) == []


@pytest.mark.usefixtures("model")
def test_options_that_are_lists_and_flags_may_be_repeated(run):
    code, out, _ = run("predict", "m.model", "--json", "-d", "a goal", "-d", "a law", "--json")
    assert (code, out.count("\n")) == (0, 2)
    Path("own.toml").write_text("seed = 1\n", encoding="utf-8")  # one in the file and one of the user
    assert (
        run("train", "data.csv", "-o", "x.model", "-m", "multinomial", "--seed", "2", "--options", "own.toml")[0] == 0
    )


@pytest.mark.parametrize("old", sorted(OTHER_NAMES))
def test_names_that_people_know_lead_to_ours(old):
    """At least one command answers this name with the option that does it."""
    from unnaive.apps.cli.unknown_options import unknown_option

    answers = []
    for name, command in COMMANDS.items():
        flags = [flag for one in command.params for flag in one.opts]
        if old not in flags:
            by_set = list(DECLARED[name].by_set) if name in DECLARED else []
            answers.append(unknown_option(old, f"unnaive {name}", flags, by_set))
    assert any(f"did you mean {meant!r}" in answer for answer in answers for meant in OTHER_NAMES[old])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name in DECLARED if name and not name.startswith("collections")))
def test_a_typo_in_any_option_is_answered_with_its_name(name, run):
    for option in options_of(COMMANDS[name]):
        longer_of_another = any(option != other and option.startswith(other) for other in options_of(COMMANDS[name]))
        if len(option) < 8 or longer_of_another:
            continue
        typo = option[:-2] + option[-1] + option[-2]
        if typo == option:
            continue
        code, _, err = run(*name.split(), typo)
        assert (code, err.count("\n")) == (2, 1)
        assert f"did you mean {option!r}?" in err, err


def test_options_come_from_a_file_and_go_to_one(run):
    words = ["-m", "multinomial", "--set", "alpha=0.5", "--ngrams", "1-2", "--set", "min-df=2", "--set", "digits=false"]
    assert run("train", "data.csv", "-o", "one.model", *words, "--label", "label", "--save-options", "run.toml")[0] == 0
    saved = Path("run.toml").read_text(encoding="utf-8")
    assert set(saved.splitlines()) == {
        'output = "one.model"', 'model = "multinomial"', 'label = "label"', 'ngrams = "1-2"', "min-df = 2",
        "digits = false", "alpha = 0.5",
    }  # fmt: skip
    assert run("train", "data.csv", "--options", "run.toml", "-o", "two.model")[0] == 0
    assert Path("one.model").read_bytes() == Path("two.model").read_bytes()
    assert run("train", "data.csv", "--options", "run.toml", "-o", "three.model", "--set", "alpha=2")[0] == 0
    assert TextClassifier.load("three.model").fitted_.spec.model.alpha == 2
    Path("bad.toml").write_text("lable = 1\n", encoding="utf-8")
    code, _, err = run("train", "data.csv", "--options", "bad.toml", "-o", "x.model")
    assert (code, "--set of unnaive train has no 'lable'" in err) == (2, True)
    code, _, err = run("train", "data.csv", "-o", "x.model", "--save-options", "data.csv")
    assert (code, "data.csv is read by this command" in err) == (2, True)


def test_predict_takes_a_text(run, model):
    code, out, _ = run("predict", model, "a goal by the ball", "--json")
    assert (code, json.loads(out)["labels"]) == (0, ["sport"])
    assert run("predict", model, "a goal", "data.csv")[0] == 2
    code, _, err = run("predict", model, "goals")
    assert (code, 'for a text itself: unnaive predict MODEL "some text"' in err) == (2, True)
    code, _, err = run("predict", model, "my goals.csv")
    assert (
        code,
        "no file or folder called 'my goals.csv'" in err or "no file or folder called my goals.csv" in err,
    ) == (2, True)


def test_exit_codes_for_automatic_checks(run, model):
    assert run("evaluate", model, "data.csv", "--at-least", "0.9")[0] == 0
    code, out, err = run("evaluate", model, "data.csv", "--measure", "macro-f1", "--at-least", "1.01")
    assert (code, err.splitlines()[-1]) == (1, "unnaive: macro-f1 is 1.0000, below 1.01 (--at-least)")
    assert "macro-f1" in out
    assert "precision" not in out
    assert run("audit", "data.csv", "--json", "--fast", "--fail-on", "label-error")[0] == 0
    code, _, err = run("audit", "data.csv", "--json", "--fast", "--fail-on", "duplicate", "--fail-on", "label-error")
    assert (code, bool(re.search(r"there are findings, \d+ of kind duplicate", err))) == (1, True)


def test_a_subcommand_wins_over_a_file_of_its_name(run):
    Path("status").write_text("text\na goal\na law\n", encoding="utf-8")
    code, _, err = run("label", "status", "./status", "-o", "l.db", "--format", "csv")
    assert code == 0, err
    assert run("label", "status", "status", "-o", "l.db", "--format", "csv")[0] == 0
    code, _, err = run("label", "status", "l.db", "--multilabel")
    assert (code, "l.db has one label for each text; leave --multilabel out" in err) == (2, True)
