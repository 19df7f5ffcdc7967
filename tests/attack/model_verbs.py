"""Every verb on a model file that may be hostile: it is refused in one sentence, or each verb works or says why not."""

import io
import warnings
from contextlib import redirect_stdout

import numpy as np

from unnaive import TextClassifier
from unnaive.apps.cli.commands.inspect import show_description
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model
from unnaive.classifier.model_file import save as save_model
from unnaive.evaluation.evaluate import evaluate
from unnaive.workflows.describe_model import describe_file

TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 3
LABELS = ["sport", "politics", "food", "sport", "politics"] * 3
SETS = [(label,) if label != "food" else ("food", "politics") for label in LABELS]
NEW = ["a ball in the soup", "vote", "", "x" * 300]
SMALL = {"restarts": 2, "average": 2, "k": 3, "max_iter": 5, "features": 6, "members": 2}  # settings of models


class Wrong(Exception):
    """A verb gave something that cannot be."""


def use(path, seed, *, must_refuse):
    """Load a model and go through all verbs; (outcome, note)."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        fitted = load_model(path, mapped=seed % 2 == 1)
    except BadModel as problem:
        return ("refused", "") if "\n" not in str(problem) else ("crashed", f"seed {seed}: not one sentence")
    except UnnaiveError as problem:
        return "crashed", f"seed {seed}: loading raised {type(problem).__name__}"
    return use_fitted(fitted, path, seed, must_refuse=must_refuse)


def use_fitted(fitted, path, seed, *, must_refuse=False):
    """Go through all verbs of a model that loaded; (outcome, note)."""
    step, refused = "start", False
    try:
        for step, act in verbs(fitted, path, seed):
            try:
                act()
            except UnnaiveError as problem:
                refused |= isinstance(problem, BadModel)
                if "\n" in str(problem):
                    return "crashed", f"seed {seed} {step}: not one sentence"
    except Exception as problem:
        return "crashed", f"seed {seed} {step} of {fitted.spec.model.traits.name}: {type(problem).__name__}: {problem}"[
            :300
        ]
    if must_refuse and not refused:
        return "crashed", f"seed {seed}: changed bytes were not noticed"
    return ("refused" if refused else "survived"), ""


def verbs(fitted, path, seed):
    """(name, function) of each verb, in the order of a model's life; a mapped one is looked at by its first use."""
    label = fitted.classes[0] if not fitted.multilabel else (fitted.classes[0],)
    yield "predict", lambda: check_count(fitted.predict(NEW))
    yield "scores", lambda: check_scores(fitted, fitted.scores(NEW))
    yield "explain", lambda: fitted.explain(NEW[0])
    yield "explain against", lambda: fitted.explain(NEW[0], fitted.classes[0], against=fitted.classes[-1])
    yield "terms", lambda: [fitted.strongest_terms(one, 3) for one in fitted.classes[:5]]
    if fitted.probabilistic:
        yield "predict_proba", lambda: check_probabilities(fitted, fitted.predict_proba(NEW))
        yield "predict_label_set", lambda: fitted.predict_label_set(NEW, 0.8, by_class=seed % 3 == 0)
    yield "evaluate", lambda: evaluate(fitted, TEXTS[:3], [label] * 3).measures
    yield "inspect", lambda: inspect(fitted, path)
    yield "save", lambda: save_twice(fitted, path)
    yield "compress", lambda: compress_model(fitted, int(0.6 * file_size(fitted, frozen=True)))
    if fitted.counts is None and fitted.documents is None:
        return
    yield "update", lambda: again(classifier(fitted).partial_fit(["a new ball"], [label]))
    yield "forget", lambda: again(classifier(fitted).forget([TEXTS[0]], [label]))
    yield "merge", lambda: again(classifier(fitted).merge(classifier(fitted)))
    yield "remake", lambda: again(classifier(fitted).remake(min_df=2))
    other = "bernoulli" if fitted.spec.model.traits.statistic == "counts" else "nbsvm"
    yield "remake as another", lambda: again(classifier(fitted).remake(model=other))
    if fitted.spec.model.traits.statistic == "documents" and not fitted.spec.model.traits.keeps_choice:
        yield "calibrate", lambda: again(classifier(fitted).remake(calibrate="platt", decision=None, optimise=None))


def classifier(fitted):
    return TextClassifier.from_fitted(fitted).set_params(n_jobs=1)


def again(model):
    """What a verb made predicts, too."""
    check_count(model.predict(NEW))
    check_scores(model.fitted_, model.scores(NEW))


def inspect(fitted, path):
    """What `unnaive inspect` does, with nothing shown."""
    found = describe_file(fitted, path, list(fitted.classes), 3)
    with redirect_stdout(io.StringIO()):
        show_description(found)


def save_twice(fitted, path):
    """A model that was loaded can be saved, the file loads, and is then the same bytes."""
    copies = [path.with_name(f"{path.stem}-{number}.model") for number in range(2)]
    for copy in copies:
        copy.unlink(missing_ok=True)
    save_model(fitted, copies[0])
    try:
        loaded = load_model(copies[0])
    except BadModel as problem:
        raise Wrong(f"what was saved does not load: {problem}") from problem
    save_model(loaded, copies[1])
    if copies[0].read_bytes() != copies[1].read_bytes():
        raise Wrong("what was saved and loaded is saved otherwise")


def check_count(labels):
    if len(labels) != len(NEW) if isinstance(labels, list) else labels.shape[0] != len(NEW):
        raise Wrong("there are not as many labels as texts")


def check_scores(fitted, scores):
    if scores.shape != (len(NEW), len(fitted.classes)) or np.isnan(scores).any():
        raise Wrong("a score is no number")


def check_probabilities(fitted, p):
    if not np.isfinite(p).all() or (p < -1e-9).any() or (p > 1 + 1e-9).any():
        raise Wrong(f"probabilities from {p.min()} to {p.max()}")
    if not fitted.multilabel and not np.allclose(p.sum(axis=1), 1, atol=1e-6):
        raise Wrong("the probabilities of a text do not sum to one")
