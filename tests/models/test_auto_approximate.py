"""`auto` changed approximately: told everywhere, undone by forgetting, and exact again after the next training."""

import json

import numpy as np
import pytest

from unnaive import Auto, TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import UnnaiveError
from unnaive.classifier.receipts import model_hash
from unnaive.io.tickets import load_tickets
from unnaive.models.auto.adjust import find_residuals

N = 260


@pytest.fixture(scope="module")
def tickets():
    corpus = load_tickets()
    rows = np.random.default_rng(2).permutation(len(corpus))[: N + 12]
    return [corpus.texts[row] for row in rows], [corpus.labels[row][0] for row in rows]


@pytest.fixture(scope="module")
def trained(tickets):
    texts, labels = tickets
    return TextClassifier("auto", budget="fast").fit(texts[:N], labels[:N])


def copy_of(classifier):
    return TextClassifier.from_fitted(classifier.fitted_)


def right_probability(classifier, texts, labels):
    places = [list(classifier.classes_).index(label) for label in labels]
    return classifier.predict_proba(texts)[np.arange(len(texts)), places]


def test_new_documents_are_learnt_and_forgotten_again(tickets, trained):
    """They become likelier to be of their classes; forgetting them gives the scores back, but for rounding.

    One that is learnt with others may lose a little to documents of other classes with the same words, so each is also
    learnt alone.
    """
    texts, labels = (part[N:] for part in tickets)
    before = right_probability(trained, texts, labels)
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        alone = copy_of(trained).partial_fit([text], [label], search="adjust")
        assert right_probability(alone, [text], [label])[0] > before[row]
    changed = copy_of(trained).partial_fit(texts, labels, search="adjust")
    after = right_probability(changed, texts, labels)
    assert np.all(after[before < 0.95] > before[before < 0.95])
    assert np.log(after).mean() > np.log(before).mean() + 0.1
    assert changed.fitted_.documents.n_docs == N + 12
    assert changed.fitted_.provenance.n_approximate == 12
    changed.forget(texts, labels, search="adjust")
    np.testing.assert_allclose(changed.predict_proba(texts), trained.predict_proba(texts), atol=2e-4)
    assert changed.fitted_.documents == trained.fitted_.documents


def test_more_documents_than_are_solved_for_together_are_forgotten_too(tickets, trained):
    """Batches are undone last first: in their order, .19 of 1.62 in the scores of 200 documents was left."""
    texts, labels = tickets
    texts, labels = [f"{text} {labels[row - 1]}" for row, text in enumerate(texts)][:200], labels[:200]
    before = trained.scores(texts)
    changed = copy_of(trained).partial_fit(texts, labels, search="adjust")
    assert np.abs(changed.scores(texts) - before).max() > 0.5
    changed.forget(texts[::-1], labels[::-1], search="adjust")
    np.testing.assert_allclose(changed.scores(texts), before, atol=2e-4)


def test_the_next_exact_change_is_the_model_of_all_documents(tickets, trained):
    """Bit for bit: what was adjusted leaves no trace."""
    texts, labels = tickets
    changed = copy_of(trained).partial_fit(texts[N:], labels[N:], search="adjust")
    exact = TextClassifier("auto", budget="fast").fit(texts, labels)
    assert model_hash(changed.fitted_) != model_hash(exact.fitted_)
    assert model_hash(changed.remake().fitted_) == model_hash(exact.fitted_)
    assert changed.fitted_.provenance.n_approximate == 0


def test_rows_of_counts_are_adjusted_too():
    X, y = np.eye(4, dtype=int)[[0, 1, 2, 3] * 8], np.array(["a", "b", "a", "b"] * 8)
    model = Auto(budget="fast").fit(X, y)
    before = model.predict_proba([[0, 0, 0, 1]])[0, 0]
    model.partial_fit([[0, 0, 0, 1]] * 3, ["a"] * 3, search="adjust")
    assert model.predict_proba([[0, 0, 0, 1]])[0, 0] > before
    model.forget([[0, 0, 0, 1]] * 3, ["a"] * 3, search="adjust")
    assert model.predict_proba([[0, 0, 0, 1]])[0, 0] == pytest.approx(before, abs=1e-4)
    with pytest.raises(UnnaiveError, match="cannot add columns"):
        model.partial_fit([[0, 0, 0, 1, 1]], ["a"], new_classes=True, search="adjust")


def test_residuals_are_the_slope_of_the_loss():
    """By differences, of both links."""
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=(3, 4)), np.eye(4)[[0, 2, 2]]

    def losses(link, scores):
        odds = -np.logaddexp(0.0, -scores)
        if link == "one-of-all":
            return -(labels * (odds - np.logaddexp.reduce(odds, axis=1, keepdims=True))).sum()
        return -(labels * odds + (1 - labels) * -np.logaddexp(0.0, scores)).sum()

    for link in ("one-of-all", "log-odds"):
        slope = np.empty_like(scores)
        for place in np.ndindex(scores.shape):
            moved = np.zeros_like(scores)
            moved[place] = 1e-6
            slope[place] = (losses(link, scores + moved) - losses(link, scores - moved)) / 2e-6
        np.testing.assert_allclose(find_residuals(scores, labels, link), -slope, atol=1e-8)


def test_what_cannot_be_approximate_is_a_sentence(tickets, trained):
    texts, labels = tickets
    with pytest.raises(UnnaiveError, match="cannot add or remove classes"):
        copy_of(trained).partial_fit(["a new thing"], ["novel"], new_classes=True, search="adjust")
    with pytest.raises(UnnaiveError, match="keeps counts, so its updates are exact"):
        TextClassifier("multinomial").fit(texts, labels).partial_fit(texts[:2], labels[:2], search="adjust")
    with pytest.raises(UnnaiveError, match="cannot be updated approximately"):
        TextClassifier("nbsvm").fit(texts, labels).partial_fit(texts[:2], labels[:2], search="adjust")


def test_commands_receipts_and_descriptions_say_so(tickets, trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, labels = (part[N:] for part in tickets)
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "new.jsonl").write_text("\n".join(rows) + "\n")
    trained.save("m.model")

    def run(words):
        code = exit_code(words.split())
        return code, " ".join(capsys.readouterr().out.split())

    code, shown = run("update m.model new.jsonl --search adjust")
    assert code == 0
    assert "12 documents changed the weights approximately; to make them exact: unnaive update m.model" in shown
    assert "12 documents were learnt or forgotten approximately; an exact update retrains" in run("inspect m.model")[1]
    assert run("forget m.model new.jsonl --search adjust --receipt r.json")[0] == 0
    receipt = json.loads((tmp_path / "r.json").read_text())
    assert receipt["kept_from_before"] == ["weights, approximately"]
    assert "they, its vocabulary and its calibration may still depend on them" in receipt["statement"]
    code, shown = run("verify m.model --receipt r.json --forgotten new.jsonl")
    assert code == 0
    assert "that weights, vocabulary and calibration do not depend on the documents" in shown
