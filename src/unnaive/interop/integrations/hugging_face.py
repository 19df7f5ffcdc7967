"""The Hugging Face Hub: a TextClassifier as a repository of its model file, config.json and a model card.

The model file is a safetensors file, so the Hub shows what is in it, and nothing is pickled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin, hf_hub_download

from unnaive import __version__
from unnaive.base.errors import UnnaiveError
from unnaive.classifier.text_classifier import TextClassifier

FILE = "model.safetensors"
SHOWN_CLASSES = 30


class HubModel(ModelHubMixin):  # type: ignore[misc]
    """A classifier with the methods of the Hub's mixin; `classifier` is the TextClassifier itself."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier

    def _save_pretrained(self, save_directory: Path) -> None:
        self.classifier.save(save_directory / FILE)
        about = {
            "library": "unnaive", "version": __version__, "model": self.classifier.fitted_.spec.model.traits.name,
            "target_type": self.classifier.target_type_, "classes": [*map(str, self.classifier.classes_)],
            "token_rule": self.classifier.token_rule.to_dict(),
        }  # fmt: skip
        text = json.dumps(about, indent=2, ensure_ascii=False)
        (save_directory / "config.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **where: Any) -> HubModel:
        options = {
            name: where[name] for name in ("revision", "cache_dir", "force_download", "local_files_only", "token")
        }
        file = Path(model_id) / FILE
        if Path(model_id).is_dir() and not file.is_file():
            raise UnnaiveError(f"the folder {model_id} has no {FILE}; save_pretrained writes one")
        return cls(TextClassifier.load(file if file.is_file() else hf_hub_download(model_id, FILE, **options)))

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """The model card: model, classes and an example; `kwargs` go into the metadata."""
        about = {"library_name": "unnaive", "pipeline_tag": "text-classification", "tags": ["text-classification"]}
        language = self.classifier.language
        data = ModelCardData(**about | ({"language": language} if language else {}) | kwargs)
        return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{_card_text(self.classifier)}")


def _card_text(classifier: TextClassifier) -> str:
    classes = [str(label) for label in classifier.classes_]
    more = f" and {len(classes) - SHOWN_CLASSES} more" if len(classes) > SHOWN_CLASSES else ""
    kind = "any number of labels" if classifier.fitted_.multilabel else "one label"
    parameters = "\n".join(f"- `{name}`: `{value!r}`" for name, value in classifier._changed().items())
    return f"""# {classifier.fitted_.spec.model.traits.title}, {len(classes)} classes

A text classifier of unnaive {__version__}. A text has {kind}.

Classes: {", ".join(f"`{label}`" for label in classes[:SHOWN_CLASSES])}{more}

It knows {len(classifier.vocabulary_):,} terms. Parameters that are not the default:

{parameters or "none"}

```python
from unnaive import TextClassifier

model = TextClassifier.from_pretrained("this repository")
model.predict(["a text"])
```
"""
