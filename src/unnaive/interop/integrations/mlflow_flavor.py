"""The MLflow flavor: a TextClassifier as its own model file in an MLflow model, and as a Python function of texts.

`unnaive.mlflow` exports it. Nothing is pickled, and a loaded model can be updated as before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive import __version__
from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.extras import import_extra
from unnaive.classifier.text_classifier import TextClassifier

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo

FLAVOR = "unnaive"
DOOR = "unnaive.mlflow"  # where MLflow finds the loader
FILE = "model.unnaive"
METHODS = ["predict", "predict_proba", "scores"]  # methods that the Python function can call


def save_model(
    model: TextClassifier, path: str | Path, *, mlflow_model: Model | None = None,
    signature: ModelSignature | None = None, input_example: Any = None, frozen: bool = False,
    pip_requirements: Sequence[str] | None = None, **more: Any,
) -> None:  # fmt: skip
    """Write a TextClassifier as an MLflow model: its model file, the signature, the requirements.

    signature         texts in, labels out by default
    input_example     a list of texts
    frozen            leave out what only updates need
    pip_requirements  this version of unnaive by default
    more              as `mlflow.pyfunc.save_model` takes them: conda_env, code_paths, metadata, …
    """
    library = _mlflow()
    if not isinstance(model, TextClassifier):
        raise UnnaiveError(f"this flavor saves a TextClassifier, and a {type(model).__name__} came; use mlflow.sklearn")
    if not model.__sklearn_is_fitted__():
        raise UnnaiveError("this TextClassifier is not fitted yet; call fit before saving")
    about = library.models.Model() if mlflow_model is None else mlflow_model
    about.add_flavor(FLAVOR, unnaive_version=__version__, data=f"data/{FILE}", model=model.model)
    if pip_requirements is None and more.get("conda_env") is None:
        pip_requirements = [f"unnaive=={__version__}"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        model.save(file, frozen=frozen)
        library.pyfunc.save_model(
            str(path), loader_module=DOOR, data_path=str(file), mlflow_model=about, input_example=input_example,
            signature=_signature(model) if signature is None else signature, pip_requirements=pip_requirements, **more,
        )  # fmt: skip


def log_model(model: TextClassifier, name: str = "model", **more: Any) -> ModelInfo:
    """Write a TextClassifier as an MLflow model into the run that is active.

    more  as `save_model` takes them, and `registered_model_name`, `params`, `tags`, … of `mlflow.models.Model.log`
    """
    _mlflow()
    from mlflow.models import Model

    return Model.log(artifact_path=None, flavor=import_module(DOOR), name=name, model=model, **more)


def load_model(model_uri: str | Path, dst_path: str | None = None) -> TextClassifier:
    """The TextClassifier of an MLflow model: a folder, "runs:/…" or "models:/…"."""
    library = _mlflow()
    folder = Path(library.artifacts.download_artifacts(str(model_uri), dst_path=dst_path))
    flavors = library.models.Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise UnnaiveError(f"{model_uri} has no flavor {FLAVOR!r}; it has {', '.join(sorted(flavors))}")
    return TextClassifier.load(folder / flavors[FLAVOR]["data"])


class PyfuncModel:
    """The Python function of the model: texts in, labels out, or the result of another method named in `params`."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Labels as from `TextClassifier.predict`; probabilities and scores as a table with a column for each class.

        What the model refuses is an MlflowException: MLflow's server answers with the sentences of these alone.
        """
        from mlflow.exceptions import MlflowException

        try:
            return self._predict(model_input, params)
        except UnnaiveError as problem:
            raise MlflowException.invalid_parameter_value(str(problem)) from problem

    def _predict(self, model_input: Any, params: dict[str, Any] | None) -> Any:
        import pandas

        method = choose(METHODS, (params or {}).get("predict_method", METHODS[0]), "predict_method")
        records = self.classifier.token_rule.fields is not None
        result = getattr(self.classifier, method)(model_input if records else _texts(model_input))
        if method == METHODS[0]:
            return [list(labels) for labels in result] if isinstance(result, list) else result
        return pandas.DataFrame(result, columns=[str(label) for label in self.classifier.classes_])


def _load_pyfunc(path: str) -> PyfuncModel:
    """Called by MLflow to load the Python function from the model file at `path`."""
    return PyfuncModel(TextClassifier.load(path))


def _texts(model_input: Any) -> Any:
    """The texts in the input: a list, an array, a series, or a table with one column or with a column named text."""
    columns = getattr(model_input, "columns", None)
    if columns is None:
        return [model_input] if isinstance(model_input, str) else model_input
    if len(columns) != 1 and "text" not in columns:
        raise UnnaiveError(f"the texts have {len(columns)} columns; give one, or name the column of texts 'text'")
    return model_input[columns[0] if len(columns) == 1 else "text"]


def _signature(model: TextClassifier) -> ModelSignature:
    """Texts in, labels out, and the method as a parameter."""
    from mlflow.models import infer_signature

    several = model.fitted_.target_type == "sets"
    labels = [[str(label) for label in model.classes_]] if several else model.predict(["a text"])
    return infer_signature(["a text"], labels, {"predict_method": METHODS[0]})


def _mlflow() -> Any:
    return import_extra("mlflow", "this flavor")
