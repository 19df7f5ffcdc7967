"""Models, exports, formats and commands of another package: tests/plugin_package, installed in a folder of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unnaive import PluginError, TextClassifier, UnnaiveError
from unnaive.base.registry import Registry
from unnaive.classifier.model_file import load_model, write_arrays
from unnaive.data.counts import Counts
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.models.catalogue import find_model
from unnaive.models.estimator import CountsModel
from unnaive.models.naive_bayes import MultinomialNB

PLUGIN = Path(__file__).parents[1] / "plugin_package"
TEXTS, LABELS = ["good ball", "fair vote", "ball game", "vote count"], ["sport", "politics", "sport", "politics"]


class Lift(CountsModel):
    """The same model as in the package, which no installed package has."""

    traits = Traits("lift", "lift over the corpus", "counts")

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        smoothed = counts.class_terms.toarray() + 1
        return Linear(np.log(smoothed) - np.log(counts.terms + 1), bias=np.zeros(counts.n_classes))


def write_metadata(folder, package, *, groups, version="1.0"):
    """The metadata of an installed package, as pip writes it."""
    about = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [line for group, entries in groups.items() for line in (f"[{group}]", *entries)]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Add a package with these entry points to the path; by default one that offers a model for our interface."""
    monkeypatch.syspath_prepend(tmp_path)

    def add(package, models=("odd-model = unnaive_odd:Odd",), interface="1"):
        groups = {"unnaive.interface": [f"{interface} = unnaive_odd"], "unnaive.models": models}
        write_metadata(tmp_path, package, groups=groups)
        return tmp_path / "unnaive_odd.py"

    return add


def test_a_name_of_two_packages_is_refused(installed):
    installed("first-odd")
    installed("second-odd")
    with pytest.raises(PluginError, match=r"^the model 'odd-model' is in two packages, first-odd and second-odd; unin"):
        find_model("odd-model")


def test_a_package_for_another_version_of_the_interface_is_not_imported(installed):
    installed("old-odd", interface="7").write_text("raise SystemExit\n")
    words = r"^the package old-odd 1.0 was made for version 7 of the interface of unnaive, which is now version 1; "
    with pytest.raises(PluginError, match=words):
        find_model("odd-model", "old-odd")


def test_a_package_that_cannot_be_imported_is_named(installed):
    installed("broken-odd").write_text("import no_such_module_at_all\n")
    words = r"^the model 'odd-model' of the package broken-odd cannot be imported \(ModuleNotFoundError: .*pip install"
    with pytest.raises(PluginError, match=words):
        find_model("odd-model", "Broken_Odd")


def test_a_part_that_is_not_a_model_is_refused(installed):
    installed("function-odd").write_text("def Odd():\n    pass\n")
    with pytest.raises(
        UnnaiveError, match=r"the model came as <function Odd.*; give a name, .* or a class with `traits`"
    ):
        find_model("odd-model", "function-odd")
    sys.modules.pop("unnaive_odd")


def test_our_name_wins_and_an_unknown_name_is_offered_all(installed):
    installed("odd", models=["multinomial = unnaive_odd:Odd", "oddest = unnaive_odd:Odd"])
    assert find_model("multinomial") is MultinomialNB
    with pytest.raises(UnnaiveError, match=r"no model called 'odest'; there are .*; did you mean 'oddest'\?"):
        find_model("odest")


def test_a_package_without_the_part_is_named():
    registry = Registry("unnaive.models", "model", {})
    words = r"^the package numpy [\d.]+ has no model 'odd-model'; install a version of numpy that has it$"
    with pytest.raises(PluginError, match=words):
        registry.find("odd-model", "numpy")


@pytest.mark.parametrize("model", [Lift(), Lift], ids=["instance", "class"])
def test_a_model_without_a_package_trains_but_is_not_saved(model, tmp_path):
    classifier = TextClassifier(model).fit(TEXTS, LABELS)
    assert classifier.predict(["ball", "vote"]).tolist() == ["sport", "politics"]
    assert classifier.partial_fit(["goal"], ["sport"]).predict(["goal"]).tolist() == ["sport"]
    with pytest.raises(
        PluginError, match=r"no installed package has .*\.Lift as its model 'lift', so no other process"
    ):
        classifier.save(tmp_path / "lift.model")


def test_a_clone_has_a_model_of_its_own_and_settings_of_the_classifier_come_first():
    from sklearn.base import clone

    classifier = TextClassifier(MultinomialNB(alpha=0.5), smoothing="laplace")
    copy = clone(classifier)
    copy.model.alpha = 2.0
    assert classifier.spec().model.get_params() == MultinomialNB(alpha=0.5).get_params()
    copy.alpha = 0.1
    assert copy.get_params()["alpha"] == copy.spec().model.alpha == 0.1


def test_a_misspelt_attribute_is_an_error_and_no_setting_hides_a_method():
    classifier = TextClassifier("multinomial")
    classifier.alhpa = 2.0
    with pytest.raises(UnnaiveError, match=r"multinomial: no setting called 'alhpa'; .*did you mean 'alpha'\?"):
        classifier.fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match="a setting is called 'explain', which is a method of TextClassifier"):
        TextClassifier("multinomial", explain=True)


def file_of(path, **changes):
    """A model file whose description has these values."""
    from unnaive.classifier.packing import pack

    arrays, about = pack(TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_)
    with path.open("wb") as file:
        write_arrays(file, arrays, {**about, **changes})
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"model": "lift", "package": "unnaive-lift"},
            "the model 'lift' needs the package unnaive-lift; install it wi",
        ),
        ({"model": "lift"}, "no model called 'lift'; there are"),
        ({"package": "numpy"}, r"the package numpy [\d.]+ has no model 'multinomial'; install a version of numpy"),
        ({"package": "x; rm -rf ~"}, "the name of its package is not the name of a package"),
        ({"package": "os:system"}, "the name of its package is not the name of a package"),
        ({"package": 3}, "package in its description is not a text"),
    ],
)
def test_a_file_names_its_package(tmp_path, changes, words):
    with pytest.raises(UnnaiveError, match=words):
        load_model(file_of(tmp_path / "changed.model", **changes))


def test_our_models_name_no_package():
    from unnaive.classifier.packing import pack

    assert "package" not in pack(TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_)[1]


USE = """
import pickle
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from unnaive import TextClassifier
from unnaive_lift import Lift, SharedTerms
texts, labels = {texts}, {labels}
by_name = TextClassifier("lift", alpha=0.5).fit(texts, labels)
for model in (Lift(alpha=0.5), Lift):
    given = TextClassifier(model, **({{}} if isinstance(model, Lift) else {{"alpha": 0.5}}))
    same = pickle.loads(pickle.dumps(clone(given).fit(texts, labels)))
    assert (same.predict_proba(texts) == by_name.predict_proba(texts)).all()
    assert clone(given).set_params(alpha=2.0).spec().model.alpha == 2.0
    assert clone(given).get_params()["model"] is not None
    given.fit(texts, labels).save("given.model")
    again = TextClassifier.load("given.model")
    assert again.get_params()["model"] is Lift and again.get_params()["alpha"] == 0.5
    assert (again.predict_proba(texts) == by_name.predict_proba(texts)).all()
    assert again.partial_fit(["goal"], ["sport"]).predict(["goal"]).tolist() == ["sport"]
search = GridSearchCV(TextClassifier(Lift()), {{"alpha": [0.1, 1.0]}}, cv=2).fit(texts, labels)
assert set(search.best_params_) == {{"alpha"}}
assert repr(TextClassifier(Lift)) == "TextClassifier(model=Lift)", repr(TextClassifier(Lift))
TextClassifier(SharedTerms()).fit(texts, labels).save("shared.model")
print(by_name.predict(["ball", "vote"]).tolist())
"""


@pytest.mark.slow
def test_a_package_adds_models_an_export_a_format_and_a_command(tmp_path):
    source, site, work = tmp_path / "source", tmp_path / "site", tmp_path / "work"
    shutil.copytree(PLUGIN, source)
    work.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--target", site, "--no-build-isolation", "--no-deps", source], check=True)

    def run(*command, plugin=True):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"PYTHONPATH": str(site)} if plugin else {}
        return subprocess.run(
            [sys.executable, *command], cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    def unnaive(*words, plugin=True):
        done = run("-m", "unnaive", *words, plugin=plugin)
        return done.returncode, done.stdout + done.stderr

    (work / "train.bar").write_text("".join(f"{label}|{text}\n" for label, text in zip(LABELS, TEXTS, strict=True)))
    table = ["train.bar", "--format", "bar", "--label", "label", "--text", "text"]
    code, shown = unnaive("train", *table, "--model", "lift", "-o", "lift.model")
    assert code == 0, shown
    assert unnaive("inspect", "lift.model")[1].startswith("lift.model: lift over the corpus")
    used = run("-c", USE.format(texts=TEXTS, labels=LABELS))
    assert (used.returncode, used.stdout) == (0, "['sport', 'politics']\n"), used.stderr
    (work / "new.txt").write_text("ball\nvote\n")
    for model in ("lift.model", "given.model", "shared.model"):
        code, shown = unnaive("predict", model, "new.txt", "--json", "--quiet")
        assert code == 0, shown
        answers = [json.loads(line)["labels"] for line in shown.splitlines()]
        assert answers == [["sport"], ["politics"]], shown
        code, shown = unnaive("predict", model, "new.txt", plugin=False)
        assert code == 2
        name = model.replace("shared.", "shared-terms.").replace("given.", "lift.").removesuffix(".model")
        assert shown == (
            f"unnaive: {model}: the model {name!r} needs the package unnaive-lift; install it with pip install "
            "unnaive-lift\n"
        )
    assert unnaive("export", "lift.model", "--to", "weights", "-o", "exported")[0] == 0
    assert sorted(path.name for path in (work / "exported").iterdir()) == [
        "conformance.jsonl", "export.json", "weights.json",
    ]  # fmt: skip
    assert unnaive("export", "--check", "exported")[0] == 0
    assert unnaive("hello", "--name", "Ada") == (0, "hello Ada\n")
    assert re.search(r"Examples?.*unnaive hello --name Ada", unnaive("hello", "--help")[1], re.DOTALL)
    assert unnaive("hello", plugin=False)[0] == 2
    damage = "import numpy as np; from unnaive_lift import SharedTermsScorer as S; S.from_arrays({'present': np.ones"
    assert "has the type float64" in run("-c", f"{damage}((2, 2))}}, {{}})").stderr
