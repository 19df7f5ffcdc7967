"""The textbook's worked example, its two tables on Reuters-21578, and the claims of its slides about naive Bayes.

Claims are small experiments: time against size (slide 36), irrelevant terms and drift (slide 47), on single-label
collections: the eight-topic part of Reuters (R8) and 20 Newsgroups.

Slide 56 b collects breakevens of Dumais et al. (1998), whose methods are in dumais.py, and of Joachims (1998): nearest
neighbours on all terms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from unnaive.base.errors import count_noun
from unnaive.base.types import Floats, Sparse
from unnaive.data.counts import Counts
from unnaive.data.folds import out_of_fold
from unnaive.evaluation.ranking import breakeven, breakeven_micro, weighted_mean
from unnaive.evaluation.splits import stratified_split
from unnaive.evaluation.tally import Tally, class_sizes
from unnaive.evaluation.trials import train_scorer
from unnaive.learning.tuning import best_cut, scut
from unnaive.linear.links import comparable_scores, probabilities
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.papers.data import PreparedData, prepare
from unnaive.papers.dumais import best_terms, similarity_to_means, titles_and_bodies, tree_probabilities
from unnaive.papers.hinge import fit_hinge
from unnaive.papers.paper_run import Measurement, PaperModel, PaperRun, Runner
from unnaive.text.counting import TextCounter

TRAINING = ("Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese")
TEST = "Chinese Chinese Chinese Tokyo Japan"
TOP_10 = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")


MULTICLASS = ("scheme", "multiclass")
SELECTED_TERMS = 2000

CLASSIFIERS = (
    PaperModel("NB", "multinomial"),
    PaperModel("Rocchio", "rocchio"),
    PaperModel("kNN", "knn", (("k", 30),)),
    PaperModel("trees", "tree"),
    PaperModel("SVM", "svm"),
)


TOP_ROW, ALL_ROW = "micro-avg (top 10)", "micro-avg-D (118 classes)"
FEW_TERMS, MORE_TERMS = 50, 300  # of a category: for naive Bayes; for trees and support vector machine
HINGE_C = 0.1
NEIGHBOURS = PaperModel("kNN", "knn", (("k", 30),))

MICRO_ROW, MACRO_ROW = "micro-avg-L (90 classes)", "macro-avg (90 classes)"

# one multi-class model, as the slides define it, instead of 90 binary ones; by the smoothing of P(t|c)
SLIDES_NB = (
    PaperModel("NB multi-class, 2,000 terms, add-one", "multinomial", (MULTICLASS,)),
    PaperModel("NB multi-class, 2,000 terms, discounting", "multinomial", (MULTICLASS, ("smoothing", "absolute"))),
)


def worked_example(run: PaperRun) -> Iterator[Measurement]:
    """Priors, conditional probabilities and the two products of slides 34 and 35."""
    if not run.wants("NB", "multinomial"):
        return
    counter = TextCounter()
    X = counter.count(TRAINING, grow=True)
    model = MultinomialNB().linear_rule(Counts.of(X, csr_array([[1, 0], [1, 0], [1, 0], [0, 1]])))
    products = np.exp(model.scores(counter.count([TEST])))[0]
    for c, column in enumerate(("China", "not China")):
        yield Measurement("P(class)", column, float(np.exp(model.bias[c])))
        for term in ("Chinese", "Tokyo", "Japan"):
            weight = model.weights(counter.vocabulary.ids([term.lower()]))[c, 0]
            yield Measurement(f"P({term}|class)", column, float(np.exp(weight)))
        yield Measurement("P(class) ∏ P(t|class) of document 5", column, float(products[c]))


def double_counting(run: PaperRun) -> Iterator[Measurement]:
    """Slide 46: posteriors of two classes from their products P(c) ∏ P(t|c), and the selected class."""
    if not run.wants("NB", "multinomial"):
        return
    estimates = probabilities("softmax", np.log([[0.00099, 0.00001]]), exclusive=True)[0]
    for c, column in enumerate(("c1", "c2")):
        yield Measurement("NB estimate P(c|d)", column, float(estimates[c]))
        yield Measurement("class selected (1 = yes)", column, float(estimates.argmax() == c))


ML, ADD_ONE = "maximum likelihood", "add-one"


def zero_probabilities(run: PaperRun) -> Iterator[Measurement]:
    """Slides 25 to 27: what happens to the test documents of R8 without smoothing, and with one added to each count."""
    if not run.wants("NB", "multinomial"):
        return
    data = prepare(run, "reuters", "or-gate", view="r8")
    (X, Y), (test, truth) = data.part("train"), data.part("test")
    scored = {ML: unsmoothed_scores(X, Y, test), ADD_ONE: train_scorer("multinomial", X, Y).scores(test)}
    for column, scores in scored.items():
        impossible = np.isneginf(scores)
        own = impossible[np.arange(len(scores)), truth.indices]
        right = (scores.argmax(axis=1) == truth.indices) & ~impossible.all(axis=1)
        shares = {TRUE_CLASS_ZERO: own, EVERY_CLASS_ZERO: impossible.all(axis=1), ACCURACY: right}
        for row, documents in shares.items():
            yield Measurement(row, column, 100 * float(documents.mean()))


TRUE_CLASS_ZERO = "documents whose own class has probability 0"
EVERY_CLASS_ZERO = "documents for which every class has probability 0"
ACCURACY = "accuracy"


def unsmoothed_scores(X: Sparse, Y: Sparse, documents: Sparse) -> Floats:
    """log p(c) + Σ_t n_t log N_ct / N_c• (n_docs, n_classes); −∞ where a document has a term with N_ct = 0.

    Zeros are masked before the product, since 0 · −∞ is not a number.

    >>> X, Y = csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]])     # p(ball|c) = 1 and 1/2
    >>> unsmoothed_scores(X, Y, csr_array([[1, 0], [0, 1]])).round(2)
    array([[-0.69, -1.39],
           [ -inf, -1.39]])
    """
    occurrences = (Y.T @ X).toarray().astype(np.float64)
    unseen = occurrences == 0
    logs = np.log(np.where(unseen, 1.0, occurrences / occurrences.sum(axis=1, keepdims=True)))
    scores = documents @ logs.T + np.log(Y.sum(axis=0) / Y.shape[0])
    hit = (documents > 0).astype(np.float64) @ unseen.T.astype(np.float64)
    return np.where(hit > 0, -np.inf, scores)


def all_classes(run: PaperRun) -> Iterator[Measurement]:
    """Table a: micro and macro F1 over the 90 classes."""
    if run.wants("kNN", "knn"):
        yield Measurement(MICRO_ROW, "kNN", 100 * li_and_yang_neighbours(run, 2000, 0.6).micro("f1"))
        yield Measurement(MACRO_ROW, "kNN", 100 * li_and_yang_neighbours(run, 1000, 0.4).macro("f1"))
    for classifier in _wanted(run, "NB", "Rocchio", "SVM"):
        tally = decisions(run, classifier, "modapte-90")
        yield Measurement(MICRO_ROW, classifier.label, 100 * tally.micro("f1"))
        yield Measurement(MACRO_ROW, classifier.label, 100 * tally.macro("f1"))
    for classifier in SLIDES_NB:
        if run.wants(classifier.label, classifier.model):
            tally = decisions(run, classifier, "modapte-90", SELECTED_TERMS)
            yield Measurement(MICRO_ROW, classifier.label, 100 * tally.micro("f1"))
            yield Measurement(MACRO_ROW, classifier.label, 100 * tally.macro("f1"))


@lru_cache(maxsize=4)
def li_and_yang_neighbours(run: PaperRun, n_terms: int, least_f1: float) -> Tally:
    """85 nearest neighbours on the best terms by information gain; Li and Yang tune the arguments for each average.

    The threshold of a class has the best F1 in three folds of the training documents, or is the highest score there
    if that F1 is below `least_f1` (SCutFBR.1 of Yang 2001).
    """
    data = _data(run, "modapte-90")
    data = data.take_terms(np.sort(top_k(information_gain(Counts.of(*data.part("train"))), n_terms)))
    (X, Y), (test, truth) = data.part("train"), data.part("test")

    def score(train: Any, labels: Any, documents: Any) -> Any:
        return train_scorer("knn", train, labels, seed=run.seed, k=85).scores(documents)

    run.tell(f"kNN: thresholds for {count_noun(len(data.classes), 'class', 'classes')}, out of fold")
    held_out = out_of_fold(lambda inside, rest: score(X[inside], Y[inside], X[rest]), Y, n_folds=3, seed=run.seed)
    cuts = [best_cut(column, truth) for column, truth in zip(held_out.T, Y.toarray().T > 0, strict=True)]
    highest = held_out.max(axis=0)
    thresholds = [cut if f1 >= least_f1 else top for (cut, f1), top in zip(cuts, highest, strict=True)]
    return Tally.of(truth, csr_array((score(X, Y, test) >= np.array(thresholds)).astype(np.int64)))


def largest_classes(run: PaperRun) -> Iterator[Measurement]:
    """Table b: the breakeven of each of the ten largest classes, and with one threshold for ten or for all classes."""
    for label, model in (("NB", "bernoulli"), ("Rocchio", "rocchio"), ("trees", "tree"), ("SVM", "svm")):
        if run.wants(label, model):
            data, scores = titles_and_bodies(run), dumais_scores(run, label)
            top = [data.classes.index(name) for name in TOP_10]
            yield from _class_breakevens(label, data.truth[:, top], scores[:, top])
            yield Measurement(TOP_ROW, label, 100 * breakeven_micro(data.truth[:, top], scores[:, top]))
            yield Measurement(ALL_ROW, label, 100 * breakeven_micro(data.truth, scores))
    if run.wants(NEIGHBOURS.label, NEIGHBOURS.model):
        classes, truth, scores = joachims_neighbours(run)
        top = [classes.index(name) for name in TOP_10]
        yield from _class_breakevens(NEIGHBOURS.label, truth[:, top], scores[:, top])
        every = weighted_mean(100 * breakeven(truth, scores), class_sizes(truth))
        note = f"of all 90 classes under one threshold, as the printed figure is; {every:.1f} with one for each class"
        yield Measurement(TOP_ROW, NEIGHBOURS.label, 100 * breakeven_micro(truth, scores), note=note)


def _class_breakevens(label: str, truth: Sparse, scores: Floats) -> Iterator[Measurement]:
    for name, point in zip(TOP_10, 100 * breakeven(truth, scores), strict=True):
        yield Measurement(name, label, float(point))


@lru_cache(maxsize=8)
def dumais_scores(run: PaperRun, label: str) -> Floats:
    """Scores of the test documents by a method of Dumais et al. (1998), (n_docs, 118); see dumais.py."""
    data = titles_and_bodies(run)
    run.tell(f"{label}: training on {count_noun(data.X.shape[0], 'document')}")
    if label == "Rocchio":
        return similarity_to_means(data.X, data.Y, data.test)
    terms = best_terms(run, FEW_TERMS if label == "NB" else MORE_TERMS)
    score = {"NB": score_bernoulli, "trees": score_tree, "SVM": score_hinge}[label]
    scores = np.full((data.test.shape[0], len(data.classes)), -np.inf)
    for c in np.flatnonzero(data.Y.sum(axis=0)):  # a category without training documents is never assigned
        X, test = (csr_array((part[:, terms[c]] > 0).astype(np.int64)) for part in (data.X, data.test))
        scores[:, c] = score(X, data.Y[:, [c]], test)
    return scores


def score_bernoulli(X: Sparse, member: Sparse, test: Sparse) -> Floats:
    """Log-odds of a category against the rest, from the presence of its terms (n_docs,)."""
    scorer = train_scorer("bernoulli", X, csr_array(member), scheme="one-vs-rest")
    return np.asarray(comparable_scores(scorer.link, scorer.scores(test))[:, 0])


def score_tree(X: Sparse, member: Sparse, test: Sparse) -> Floats:
    """The probability of a category (n_docs,)."""
    return tree_probabilities(X.toarray() > 0, member.toarray().ravel() > 0, test.toarray() > 0)


def score_hinge(X: Sparse, member: Sparse, test: Sparse, C: float = HINGE_C) -> Floats:
    """The margin of a category (n_docs,)."""
    weights, bias = fit_hinge(X, member.toarray().ravel() > 0, C)
    return np.asarray(test @ weights + bias)


@lru_cache(maxsize=1)
def joachims_neighbours(run: PaperRun) -> tuple[tuple[str, ...], Sparse, Floats]:
    """Classes, truth and scores (n_docs, 90) of Joachims (1998): stems in three or more training documents."""
    data = prepare(run, "reuters", "joachims", view="modapte-90-all").take_frequent(3)
    (X, Y), (test, truth) = data.part("train"), data.part("test")
    run.tell(f"{NEIGHBOURS.label}: training on {count_noun(X.shape[0], 'document')}")
    scorer = train_scorer(NEIGHBOURS.model, X, Y, seed=run.seed, **dict(NEIGHBOURS.settings))
    return data.classes, truth, np.asarray(comparable_scores(scorer.link, scorer.scores(test)))


def _wanted(run: PaperRun, *labels: str) -> list[PaperModel]:
    return [
        classifier
        for classifier in CLASSIFIERS
        if classifier.label in labels and run.wants(classifier.label, classifier.model)
    ]


def _data(run: PaperRun, view: str) -> PreparedData:
    return prepare(run, "reuters", "or-gate", view=view)


@lru_cache(maxsize=16)
def decisions(run: PaperRun, classifier: PaperModel, view: str, n_terms: int | None = None) -> Tally:
    """Right and wrong decisions on the test documents, with a threshold for each class.

    Thresholds are tuned on out-of-fold scores of training documents (2 folds if quick, else 5).
    `n_terms` keeps the terms that are most informative about any single class (on the training documents).
    """
    data, settings = _data(run, view), dict(classifier.settings)
    if n_terms is not None:
        gains = information_gain(Counts.of(*data.part("train")), per_class=True).max(axis=0)
        data = data.take_terms(np.sort(top_k(gains, n_terms)))
    X, Y = data.part("train")

    def score(train: Any, labels: Any, documents: Any) -> Any:
        scorer = train_scorer(classifier.model, train, labels, seed=run.seed, **settings)
        return comparable_scores(scorer.link, scorer.scores(documents))

    def held_out_scores(inside: Any, outside: Any) -> Any:
        return score(X[inside], Y[inside], X[outside])

    run.tell(f"{classifier.label}: thresholds for {count_noun(len(data.classes), 'class', 'classes')}, out of fold")
    rule = scut(out_of_fold(held_out_scores, Y, n_folds=2 if run.quick else 5, seed=run.seed), Y, sizes=())
    run.tell(f"{classifier.label}: training on {count_noun(X.shape[0], 'document')}")
    test, truth = data.part("test")
    return Tally.of(truth, rule.decide(score(X, Y, test)))


def growth_of_time(run: PaperRun) -> Iterator[Measurement]:
    """Slide 36: the exponent b in time ~ size^b of naive Bayes, by least squares on a range of sizes."""
    if not run.wants("NB", "multinomial"):
        return
    X, Y = prepare(run, "reuters", "or-gate", view="r8").part("train")
    repeated = {n: (vstack([X] * n).tocsr(), vstack([Y] * n).tocsr()) for n in (16, 32, 48, 64)}
    training = {n: _seconds(partial(Counts.of, *pair)) for n, pair in repeated.items()}
    yield Measurement("training, by number of documents", "exponent", _exponent(training), note=_times(training))
    parameters = {n: _seconds(partial(_all_weights, _wide_counts(n))) for n in (32, 64, 96, 128)}
    yield Measurement("training, by classes × terms", "exponent", _exponent(parameters), note=_times(parameters))
    model, longer = train_scorer("multinomial", X, Y), {n: _long_documents(X, n) for n in (4, 8, 16, 32)}
    testing = {n: _seconds(partial(model.scores, documents)) for n, documents in longer.items()}
    yield Measurement("testing, by terms of the document", "exponent", _exponent(testing), note=_times(testing))


def _all_weights(counts: Counts) -> Floats:
    return MultinomialNB().linear_rule(counts).weights()


def _wide_counts(n_classes: int) -> Counts:
    """Counts of n_classes classes × 60,000 terms, every cell seen."""
    cells = np.random.default_rng(0).integers(1, 9, (n_classes, 60_000))
    return Counts.of(csr_array(cells), csr_array(np.eye(n_classes, dtype=np.int64)))


def _long_documents(X: Sparse, n: int) -> Sparse:
    """The same number of documents, each the concatenation of n documents, which gives n times as many cells."""
    together = [X[np.roll(np.arange(X.shape[0]), shift)] for shift in range(n)]
    indptr = sum(part.indptr.astype(np.int64) for part in together)
    rows = np.concatenate([np.repeat(np.arange(X.shape[0]), np.diff(part.indptr)) for part in together])
    order = np.argsort(rows, kind="stable")
    data, indices = (np.concatenate([getattr(part, name) for part in together])[order] for name in ("data", "indices"))
    return csr_array((data, indices, indptr), shape=X.shape)


def _seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Processor time, which other programs do not affect: the minimum of several runs, after a warm-up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _exponent(seconds: dict[int, float]) -> float:
    """The slope of log seconds against log size.

    >>> round(_exponent({1: 0.5, 2: 1.0, 4: 2.0}), 6)
    1.0
    """
    slope, _ = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)
    return float(slope)


def _times(seconds: dict[int, float]) -> str:
    return ", ".join(f"×{n}: {1000 * value:.1f} ms" for n, value in seconds.items())


ROBUST = tuple(classifier for classifier in CLASSIFIERS if classifier.label != "Rocchio")
ACCURACY_OF = {"irrelevant terms": "accuracy on R8", "drift": "accuracy on 20 Newsgroups"}
CLAIM = "NB loses less than some other method (1 = yes)"


def losses(run: PaperRun) -> Iterator[Measurement]:
    """Slide 47: the loss of accuracy of each method, in points, due to irrelevant terms and due to drift."""
    for column, measure in (("irrelevant terms", irrelevant_terms), ("drift", drift)):
        losses: dict[str, float] = {}
        for classifier in ROBUST:
            if run.wants(classifier.label, classifier.model):
                before, after = measure(run, classifier)
                losses[classifier.label] = before - after
                note = f"{column}: {classifier.label} from {before:.1f} to {after:.1f} %"
                yield Measurement(classifier.label, column, before - after, note=note)
                yield Measurement(classifier.label, ACCURACY_OF[column], before)
        if "NB" in losses and len(losses) > 1:
            most = max(value for label, value in losses.items() if label != "NB")
            yield Measurement(CLAIM, column, float(losses["NB"] < most))


@lru_cache(maxsize=8)
def irrelevant_terms(run: PaperRun, classifier: PaperModel) -> tuple[float, float]:
    """Accuracy on R8 before and after adding as many irrelevant terms, each in randomly drawn documents.

    The added terms are the same terms with the documents shuffled: equally frequent, but useless.
    """
    data = prepare(run, "reuters", "or-gate", view="r8")
    (X, Y), (test, truth) = data.part("train"), data.part("test")
    random = np.random.default_rng(run.seed)
    noisy, noisy_test = (csr_array(hstack([part, part[random.permutation(part.shape[0])]])) for part in (X, test))
    return (
        _accuracy(run, classifier, (X, Y), (test, truth)),
        _accuracy(run, classifier, (noisy, Y), (noisy_test, truth)),
    )


@lru_cache(maxsize=8)
def drift(run: PaperRun, classifier: PaperModel) -> tuple[float, float]:
    """Accuracy on 20 Newsgroups with randomly drawn test documents, and with test documents later than all others.

    Both splits have the same size, with 2,000 terms by information gain; three random splits, one if quick.
    """
    data = prepare(run, "20newsgroups", "or-gate", view="subject-body")
    train, test = data.rows("train"), data.rows("test")
    share = len(train) / (len(train) + len(test))
    splits = [stratified_split(data.Y, share, seed=run.seed, split=n) for n in range(1 if run.quick else 3)]
    at_random = [_selected_accuracy(run, classifier, data, *rows) for rows in splits]
    return float(np.mean(at_random)), _selected_accuracy(run, classifier, data, train, test)


def _selected_accuracy(run: PaperRun, classifier: PaperModel, data: PreparedData, train: Any, test: Any) -> float:
    gains = information_gain(Counts.of(data.X[train], data.Y[train]))
    X = data.X[:, np.sort(top_k(gains, SELECTED_TERMS))]
    return _accuracy(run, classifier, (X[train], data.Y[train]), (X[test], data.Y[test]))


def _accuracy(run: PaperRun, classifier: PaperModel, train: tuple[Any, Any], test: tuple[Any, Any]) -> float:
    """The share of test documents whose best class is right, in %."""
    documents, terms = count_noun(train[0].shape[0], "document"), count_noun(train[0].shape[1], "term")
    run.tell(f"{classifier.label}: training on {documents}, {terms}")
    scorer = train_scorer(classifier.model, *train, seed=run.seed, **dict(classifier.settings))
    return 100 * float(np.mean(scorer.scores(test[0]).argmax(axis=1) == test[1].indices))


TABLES: dict[str, Runner] = {
    "example": worked_example,
    "27": zero_probabilities,
    "a": all_classes,
    "b": largest_classes,
    "36": growth_of_time,
    "46": double_counting,
    "47": losses,
}
