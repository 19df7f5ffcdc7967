"""save_pretrained, from_pretrained and push_to_hub of a classifier; they import the library of the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self, cast

from unnaive.base.errors import UnnaiveError
from unnaive.base.extras import import_extra
from unnaive.base.registry import import_part


class HubMethods:
    """The methods of the mixin of the Hugging Face Hub."""

    def save_pretrained(self, folder: str | Path, **more: Any) -> None:
        """Write the model, config.json and a model card to a folder, in the layout of the Hugging Face Hub."""
        _hub_model()(_fitted(self)).save_pretrained(folder, **more)

    def push_to_hub(self, repo_id: str, **more: Any) -> Any:
        """Write the model to a repository of the Hugging Face Hub; `more` as for `huggingface_hub.ModelHubMixin`."""
        return _hub_model()(_fitted(self)).push_to_hub(repo_id, **more)

    @classmethod
    def from_pretrained(cls, name: str | Path, **more: Any) -> Self:
        """The model of a repository of the Hugging Face Hub, or of a folder that `save_pretrained` wrote."""
        fitted = _hub_model().from_pretrained(str(name), **more).classifier.fitted_
        return cast(Self, cls.from_fitted(fitted))  # type: ignore[attr-defined]


def _fitted(classifier: Any) -> Any:
    if not classifier.__sklearn_is_fitted__():
        raise UnnaiveError("this TextClassifier is not fitted yet; call fit before saving")
    return classifier


def _hub_model() -> Any:
    import_extra("huggingface_hub", "the Hub")
    return import_part("unnaive.interop.integrations.hugging_face:HubModel")
