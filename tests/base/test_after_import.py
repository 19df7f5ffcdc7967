"""What is done when another package is imported, and BaseEstimator as a base of our estimators."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from unnaive import TextClassifier
from unnaive.base.after_import import WAITING, after_import, join_when_imported
from unnaive.base.errors import UnnaiveWarning
from unnaive.models.catalogue import MODELS, find_model

ORDERS = {
    "scikit-learn first": "import sklearn.base; from unnaive import TextClassifier, MaxEnt",
    "unnaive first": "from unnaive import TextClassifier, MaxEnt; import sklearn.base",
    "between": "from unnaive import TextClassifier; import sklearn.base; from unnaive import MaxEnt",
}
SHOW = "print([base.__name__ for model in (TextClassifier, MaxEnt) for base in model.__mro__])"


@pytest.mark.slow
def test_the_order_of_bases_is_the_same_whatever_was_imported_first():
    shown = {
        subprocess.run([sys.executable, "-c", f"{order}; {SHOW}"], capture_output=True, text=True, check=True).stdout
        for order in ORDERS.values()
    }
    assert len(shown) == 1
    assert "'Protocol', 'ClassifierMixin', 'BaseEstimator'" in shown.pop()


@pytest.mark.parametrize("model", [TextClassifier, *map(find_model, MODELS)], ids=lambda model: model.__name__)
def test_every_estimator_is_a_base_estimator(model):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import estimator_html_repr

    assert issubclass(model, BaseEstimator)
    assert issubclass(model, ClassifierMixin)
    assert isinstance(model(), BaseEstimator)
    assert not [name for name in vars(model) if name.endswith("_request")]  # which BaseEstimator writes into subclasses
    assert model.__name__ in estimator_html_repr(model())


def test_a_hook_runs_once_when_its_module_is_imported_and_at_once_if_it_was(tmp_path, monkeypatch):
    (tmp_path / "waited_for.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    after_import("waited_for", lambda module: seen.append(module.value))
    assert not seen
    import waited_for

    assert seen == [1]
    assert type(waited_for.__spec__.loader).exec_module is waited_for.__spec__.loader.exec_module.__func__
    after_import("waited_for", lambda module: seen.append(module.value + 1))
    assert seen == [1, 2]
    assert "waited_for" not in WAITING.waiting
    monkeypatch.delitem(sys.modules, "waited_for")


def test_an_import_that_fails_leaves_the_hook_waiting(tmp_path, monkeypatch):
    (tmp_path / "fails_once.py").write_text("import nothing_of_this_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    after_import("fails_once", lambda module: seen.append(module.__name__))
    with pytest.raises(ImportError):
        import_module("fails_once")
    (tmp_path / "fails_once.py").write_text("value = 'another size'\n")
    import_module("fails_once")
    assert seen == ["fails_once"]
    monkeypatch.delitem(sys.modules, "fails_once")


def test_a_package_that_changed_inside_is_left_alone_with_a_warning(monkeypatch):
    with pytest.warns(UnnaiveWarning, match="json does not recognise unnaive's estimators: ModuleNotFoundError"):
        join_when_imported({"json": "unnaive.no_such_module"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        join_when_imported({"no_such_package": "unnaive.no_such_module"})
    monkeypatch.delitem(WAITING.waiting, "no_such_package")
