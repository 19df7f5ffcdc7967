"""The Hugging Face Hub, offline: folders as repositories have them, the model card, and what would be pushed."""

import json

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError

pytestmark = pytest.mark.slow  # the library of the Hub takes a while to import

TEXTS, LABELS = ["good ball", "fair vote", "ball game"] * 3, ["sport", "politics", "sport"] * 3


@pytest.fixture(autouse=True)
def hub(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")


@pytest.fixture
def model():
    return TextClassifier("multinomial", alpha=0.5).fit(TEXTS, LABELS)


def test_a_folder_of_the_hub_gives_the_model_back(model, tmp_path):
    model.save_pretrained(tmp_path / "repo")
    again = TextClassifier.from_pretrained(tmp_path / "repo")
    assert np.array_equal(again.scores(TEXTS), model.scores(TEXTS))
    assert again.get_params() == model.get_params()
    assert sorted(path.name for path in (tmp_path / "repo").iterdir()) == [
        "README.md", "config.json", "model.safetensors",
    ]  # fmt: skip
    config = json.loads((tmp_path / "repo" / "config.json").read_text())
    assert config["classes"] == ["politics", "sport"]


def test_the_card_has_metadata_classes_and_parameters(hub, model, tmp_path):
    model.save_pretrained(tmp_path / "repo", model_card_kwargs={"license": "mit"})
    card = hub.ModelCard.load(tmp_path / "repo" / "README.md")
    assert card.data.library_name == "unnaive"
    assert card.data.pipeline_tag == "text-classification"
    assert card.data.license == "mit"
    assert "`politics`, `sport`" in card.text
    assert "- `alpha`: `0.5`" in card.text


def test_what_is_pushed_is_what_is_saved(hub, model, monkeypatch):
    pushed = {}

    def create_repo(self, repo_id, **more):
        return type("Address", (), {"repo_id": repo_id})

    def upload_folder(self, *, repo_id, folder_path, **more):
        pushed[repo_id] = {path.name: path.read_bytes() for path in folder_path.iterdir()}
        return "commit"

    monkeypatch.setattr(hub.HfApi, "create_repo", create_repo)
    monkeypatch.setattr(hub.HfApi, "upload_folder", upload_folder)
    assert model.push_to_hub("me/tickets") == "commit"
    assert sorted(pushed["me/tickets"]) == ["README.md", "config.json", "model.safetensors"]


def test_what_cannot_be_saved_or_found_is_a_sentence(tmp_path):
    with pytest.raises(UnnaiveError, match="is not fitted yet"):
        TextClassifier().save_pretrained(tmp_path / "repo")
    with pytest.raises(UnnaiveError, match=r"has no model\.safetensors"):
        TextClassifier.from_pretrained(tmp_path)
