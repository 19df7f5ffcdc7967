"""`auto`: choose families on each view of the text by held-out documents, pool them, and train on all documents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.settings import setting, shorten_value
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.folds import pool_rare_classes
from unnaive.data.held_out_parts import HeldOutOrder
from unnaive.data.products import take_columns
from unnaive.data.soft_labels import likeliest_rows
from unnaive.data.targets import one_label_matrix, single_labels
from unnaive.learning.class_limits import DataSize
from unnaive.learning.conformal import unseen_share
from unnaive.learning.learnt import HeldOutScores, Learnt, Provenance
from unnaive.learning.traits import Traits
from unnaive.linear.sum_of_linears import SumOfLinears
from unnaive.models.auto.adjust import adjust_pool
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.held_out_accuracy import HeldOutAccuracy
from unnaive.models.auto.members import FAMILIES
from unnaive.models.auto.multilabel import choose_multilabel
from unnaive.models.auto.plan import (
    BUDGETS,
    SearchPlan,
    Size,
    default_members,
    fitting_work,
    has_too_many_classes,
    make_plan,
    plan_multilabel,
)
from unnaive.models.auto.recipe import Recipe, check_recipe, place_classes
from unnaive.models.auto.refit import count_classes, order_classes, refit
from unnaive.models.auto.sampling import sample_rows
from unnaive.models.auto.search import (
    N_PARTS,
    CandidateSearch,
    ChosenView,
    Split,
    block_splits,
    cross_fitted_scores,
    divide_pairs,
    make_recipe,
    pool_views,
    unite_pairs,
)
from unnaive.models.auto.search_report import make_report, without_measures
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.vector_views import (
    AnyVectors,
    vector_candidates,
    vector_view_name,
    vectors_to_search,
    with_squares,
    without_squares,
)
from unnaive.models.auto.views import JOINED, WORDS, SelectColumns, View, select_views, take_names
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.models.label_tree.learner import LabelTree
from unnaive.models.vectors.columns import Vectors
from unnaive.text.vocabulary import Vocabulary

# the seconds that a named budget stands for when the views are chosen by the length of the text
READING_SECONDS = {"fast": 0.0, "normal": 80.0, "thorough": 800.0}
BRIEFEST = 10.0  # seconds below which only words are read
WITH_PAIRS, WITH_CHARACTERS = 6e-7, 2e-6  # seconds per character of text that pairs, and character n-grams, need
MANY = 100_000  # documents above which shared passages are looked for only in a sample
# classes of fewer documents are divided at random; with 40, as elsewhere, the accuracy shown for 20 classes of 30
# documents of 20 Newsgroups was .70 in place of .76, since quotations across classes were then held out together
FEW_OF_CLASS = 16


class Auto(DocumentsModel):
    """A pool of models on several views of the text, chosen on held-out training documents by accuracy and log-loss.

    Every family (complement naive Bayes, softmax with a naive Bayes prior, NB-SVM, linear SVM) is fitted on every view
    (words; words and pairs; character 2–5-grams inside words), on one part of the training documents, and judged on
    the rest. All candidates share the same splits: as many of five folds as hold out about 1,500 documents, so one
    fold from 7,500 documents on. Documents that share passages (copies, versions, replies that quote) are kept on one
    side where possible. After 200 held-out documents, the best two settings of each family go on. Families that do
    not lower the log-loss of the pool of words are not tried on the other views. The best candidates of a view join a
    log-linear pool,
    and then the views do. Pool weights are shrunk toward equal ones (characters count as much as words and pairs
    together), and members with small weights are dropped. The chosen members are trained again on all documents. The
    model keeps the choice as a recipe (`fitted_.provenance.recipe`), with a report of all candidates.

    The budget "normal" takes a minute or two on two cores for data of any size up to some hundred megabytes. With more
    data, fewer candidates are tried, on a sample, and the parts that cost most for the least gain are left out:
    character n-grams from 40 million characters of text on, pairs of words from 133 million, then parts of the search
    and of the last fit. `report` and `unnaive inspect` list what was left out. "fast" pools a softmax and an NB-SVM on
    words, "thorough" has ten times the work of "normal", and a number of seconds is the work that two cores do in that
    time. Budgets count estimated work, never the clock, so the same data and seed give the same model on every machine.

    `auto` trains a label tree instead, with a warning, from 2,000 classes on, from 1,000 classes if held-out scores
    would take more than 1 GB, and if the weights of all terms and classes would take more than 2 GB.

    For multilabel targets, `auto` pools a linear SVM, an NB-SVM and Rocchio's centroids for each class on words, and
    the first two on characters. Weights and log-odds are fitted out of fold, and the pool of all views or of one view
    is chosen by micro F1 and the first label; thresholds are tuned on the same out-of-fold scores.

    >>> texts = ["good ball", "fair vote", "ball game", "vote law"] * 3
    >>> from unnaive import TextClassifier
    >>> TextClassifier("auto").fit(texts, ["sport", "politics"] * 6).predict(["the ball", "a law"]).tolist()
    ['sport', 'politics']
    """

    traits = Traits(
        "auto",
        "pool of models on several views",
        "documents",
        scorer_kinds=("pool", "label-tree"),
        generative=False,
        poor_score=True,
        takes_terms=True,
        takes_vectors=True,
        keeps_choice=True,
        token_rule_changes={"analyzer": "both", "ngrams": (1, 2)},
        shorter_readings=({"ngrams": (1, 2)}, {}),
    )

    budget: str | float = setting(
        "Search work of auto: fast, normal (default, a minute or two), thorough (ten times that), or a number of "
        "seconds.",
        default="normal",
        above=0,
    )
    random_state: int = setting("Random seed for samples and solvers.", default=0, at_least=0)
    n_jobs: int | None = setting(
        "Number of threads, by default one for each core; results do not depend on it.", default=None
    )
    class_weight: Any = class_weight_setting()

    @classmethod
    def token_rule_for(cls, settings: dict[str, Any], n_chars: float = 0) -> dict[str, Any]:
        """Changes to the token rule: all views, no character n-grams, or words only, by budget and text length."""
        budget = settings.get("budget", "normal")
        seconds = READING_SECONDS.get(budget, 0.0) if isinstance(budget, str) else float(budget)
        with_pairs, words = map(dict, cls.traits.shorter_readings)
        if seconds < max(BRIEFEST, n_chars * WITH_PAIRS):
            return words
        return dict(cls.traits.token_rule_changes) if seconds >= n_chars * WITH_CHARACTERS else with_pairs

    def check_settings(self) -> None:
        """Raise an error if a setting has the wrong type or is out of range."""
        super().check_settings()
        if isinstance(self.budget, str) and self.budget not in BUDGETS:
            raise UnnaiveError(
                f"budget of auto came as {shorten_value(self.budget)}; give {', '.join(BUDGETS)}, or seconds"
            )

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None, terms: Sequence[str] | Vocabulary | None = None,
        active: Ids | None = None, select: SelectColumns | None = None, vectors: Sequence[Vectors] = (),
        held_out_weight: Floats | None = None,
    ) -> Learnt:  # fmt: skip
        """Choose the members on held-out documents, then train them on all documents.

        `held_out_weight` are the weights without those of classes, by which the accuracy on new documents is estimated.

        With feature selection, `active` has the columns selected on all documents, which the pool reads, and
        `select` returns the columns selected on the training documents (X, Y, weight) of a split. With `vectors` of
        words or fields, the pool reads all columns, including words that no training document has.
        """
        X, Y = csr_array(X), csr_array(Y)
        order, n_classes = order_classes(Y), Y.shape[1]
        seen = order[: count_classes(Y)]  # scores of classes without documents would distort temperatures and pools
        dense = with_squares([item for item in vectors if len(item.columns)])
        n_terms = X.shape[1] if active is None or dense else len(active)
        if exclusive and len(seen) == 1:
            return self._only_class(int(seen[0]), n_terms, n_classes)
        if has_too_many_classes(DataSize(X.shape[0], n_terms, X.nnz, n_classes), len(seen), exclusive=exclusive):
            if active is not None:
                X = _without_others(X, active) if dense else take_columns(X, active)
            return self._tree_of_labels(
                X, Y, exclusive=exclusive, sample_weight=sample_weight,
                progress=progress,
            )  # fmt: skip
        tell = Steps(progress)
        chosen = csr_array(Y[:, seen])
        recipe, held_out = self._search(
            X, chosen, exclusive, sample_weight, held_out_weight, tell, terms, active, select, dense
        )
        recipe = place_classes(recipe, seen.tolist(), n_classes)
        if active is not None and not dense:
            X, terms, active = take_columns(X, active), take_names(terms, active), None
        pool = refit(
            recipe, X, Y, terms, sample_weight=sample_weight, random_state=self.random_state, n_jobs=self.n_jobs,
            tell=tell, columns=active, vectors=dense,
        )  # fmt: skip
        if held_out is not None:
            rows, scores, *_ = held_out
            all_scores = np.full((len(rows), n_classes), -np.inf)
            all_scores[:, seen] = scores
            held_out = HeldOutScores(rows, all_scores)
        return Learnt(pool, held_out, Provenance(recipe))

    def _tree_of_labels(self, X: Sparse, Y: Sparse, **same: Any) -> Learnt:
        """Train a label tree: for thousands of classes, tables of scores and weights would not fit in memory."""
        warnings.warn(
            f"{Y.shape[1]:,} classes are too many for a search, so auto trains a label tree; use --model label-tree "
            "to change its settings",
            UnnaiveWarning,
            stacklevel=7,
        )
        return LabelTree(random_state=self.random_state, n_jobs=self.n_jobs).learn(X, Y, **same)

    def _only_class(self, only: int, n_terms: int, n_classes: int) -> Learnt:
        """A pool without members that predicts the one class with documents."""
        bias = np.full(n_classes, -np.inf)
        bias[only] = 0.0
        report = {"budget": self.budget, "no-search": "only one class has documents"}
        recipe = {"kind": "single", "members": [], "bias": [0.0] * n_classes, "report": report}
        return Learnt(SumOfLinears((), bias, n_terms), provenance=Provenance(recipe))

    def _search(
        self, X: Sparse, Y: Sparse, exclusive: bool, sample_weight: Floats | None, held_out_weight: Floats | None,
        tell: Steps, terms: Sequence[str] | Vocabulary | None, active: Ids | None = None,
        select: SelectColumns | None = None, vectors: Sequence[AnyVectors] = (),
    ) -> tuple[Recipe, HeldOutScores | None]:  # fmt: skip
        """The recipe, and the held-out rows with their scores; None if no document was held out."""
        targets = single_labels(Y) if exclusive else None
        views = select_views(X, terms, Y.shape[1], active)
        cells = {view.name: int(view.df.sum()) for view in views}
        budget = self.budget if isinstance(self.budget, str) else float(self.budget)
        if targets is None:
            if not views:  # the model reads vectors only
                views = [View(WORDS, np.zeros(0, np.int64), np.zeros(0, np.int64))]
            size = Size(X.shape[0], Y.shape[1], {view.name: cells.get(view.name, 0) for view in views})
            return choose_multilabel(
                X, Y, size, self.budget, plan_multilabel(size, budget), weight=sample_weight,
                random_state=self.random_state, n_jobs=self.n_jobs, tell=tell, terms=terms, select=select,
                vectors=without_squares(vectors),
            )  # fmt: skip
        views = [view for view in views if view.name != JOINED] or views
        size = Size(X.shape[0], Y.shape[1], {view.name: cells[view.name] for view in views})
        plan = make_plan(size, budget)
        vectors = vectors_to_search(vectors, X.shape[0])
        return self._choose_single(
            X, targets, views, size, plan, sample_weight, held_out_weight, tell, terms, select, vectors
        )

    def relearn(
        self, before: Learnt, places: Ids, X: Sparse, Y: Sparse, *, chosen_on: int | None = None, **same: Any
    ) -> Learnt:
        """Train the recipe of the model `before` on these documents, without a search."""
        size = DataSize(X.shape[0], X.shape[1], X.nnz, Y.shape[1])
        too_many = has_too_many_classes(size, count_classes(Y), exclusive=same.get("exclusive", True))
        if too_many or not before.provenance.recipe.get("members"):
            return self.learn(X, Y, **same)
        recipe = place_classes(before.provenance.recipe, places.tolist(), Y.shape[1])
        recipe = {**recipe, "report": without_measures(recipe["report"], chosen_on)}
        pool = refit(
            recipe, X, Y, same.get("terms"), sample_weight=same.get("sample_weight"), random_state=self.random_state,
            n_jobs=self.n_jobs, tell=Steps(same.get("progress")), columns=same.get("active"),
            vectors=with_squares(same.get("vectors", ())),
        )  # fmt: skip
        return Learnt(pool, provenance=Provenance(recipe))

    def adjust(
        self, before: Learnt, X: Sparse, Y: Sparse, *, sample_weight: Floats | None = None, gone: bool = False
    ) -> Learnt:
        """The pool after approximately learning these documents, or forgetting them if `gone`."""
        pool = before.scorer
        if not isinstance(pool, SumOfLinears) or not pool.parts:
            raise UnnaiveError(
                "this model of auto is not a pool, so it cannot be updated approximately; update it exactly"
            )
        return adjust_pool(pool, before.provenance.recipe, X, Y, sample_weight, gone=gone)

    def check_recipe(self, recipe: dict[str, Any], n_classes: int) -> None:
        """Raise an error if the recipe of a model file is not one of a pool."""
        if recipe:
            check_recipe(recipe, n_classes)

    def _choose_single(
        self, X: Sparse, targets: Ids, views: list[View], size: Size, plan: SearchPlan, weight: Floats | None,
        held_out_weight: Floats | None, tell: Steps, terms: Sequence[str] | Vocabulary | None,
        select: SelectColumns | None, vectors: Sequence[AnyVectors],
    ) -> tuple[Recipe, HeldOutScores | None]:  # fmt: skip
        """`_search` for documents with one class each."""
        rows = np.arange(len(targets))
        if len(targets) > MANY:  # documents outside this sample are on no side of a split
            random = np.random.default_rng(self.random_state)
            rows = sample_rows(rows, targets, plan.training + plan.n_folds * plan.held_out, random)
        columns = columns_of_words(X.shape[1], [item for item in vectors if isinstance(item, FieldVectors)])
        words, names = (X, terms) if columns is None else (take_columns(X, columns), take_names(terms, columns))
        words = words if len(rows) == len(targets) else csr_array(words[rows])
        document_weight = None if held_out_weight is None else held_out_weight[rows]
        likeliest = None if document_weight is None else likeliest_rows(words, targets[rows], document_weight)
        strata = targets[rows]
        documents = np.arange(len(rows)) if likeliest is None else np.unique(likeliest)
        strata[documents], joined = pool_rare_classes(strata[documents], FEW_OF_CLASS)
        order = HeldOutOrder.of(words, strata, names, likeliest=likeliest, pooled=joined)
        fold = order.parts(strata, plan.n_folds)
        if likeliest is None:
            fold = divide_pairs(fold, targets[rows], plan.n_folds, order.groups())
        splits = [
            Split(rows[split.train], rows[split.held_out])
            for split in block_splits(
                targets[rows], size.classes, fold, n_judged=plan.n_judged,
                most_training=plan.training, most_held_out=plan.held_out, random_state=self.random_state,
            )
        ]  # fmt: skip
        # a plan may have no view where there are few terms
        planned = [view for view in views if view.name in plan.views] or list(views[:1])
        if not splits:  # no class has two documents, so none can be held out
            members = default_members([view.name for view in planned])
            report = {"budget": self.budget, "no-search": "no class has a second document to hold out"}
            return {"kind": "single", "members": members, "bias": [-2.0] * size.classes, "report": report}, None
        dense = {vector_view_name(item): float(len(splits[0].train) * item.n_dims) for item in vectors}

        def expect(views: Sequence[str], candidates: Sequence[Candidate]) -> None:
            searching = sum(plan.search_cost(size, view, candidates) for view in views)
            tell.expect(searching + sum(plan.refit_cost(size, view) for view in plan.views))

        def on_candidate(view: str, candidate: Candidate) -> None:
            if view in dense:
                work = fitting_work(dense[view], size.classes, [candidate.family])
            else:
                work = plan.search_cost(size, view, [candidate]) / plan.n_judged
            tell(f"trying {FAMILIES[candidate.family].title} on {view}", work)

        search = CandidateSearch(
            X, targets, size.classes, splits, weight=weight, random_state=self.random_state, n_jobs=self.n_jobs,
            on_candidate=on_candidate, terms=terms, select=select, vectors=vectors,
        )  # fmt: skip
        chosen: list[ChosenView] = []
        for number, view in enumerate(planned):
            candidates = plan.candidates if not chosen else search.next_candidates(chosen[0])
            expect(plan.views[number:], candidates)
            chosen.append(search.choose(view, candidates))
        for view_vectors in vectors:
            view = View(vector_view_name(view_vectors), view_vectors.columns, np.zeros(0, np.int64))
            chosen.append(search.choose(view, vector_candidates(view_vectors)))
        pooled = pool_views(chosen, search.soft_targets)
        recipe, shares_of = make_recipe(chosen, pooled, plan.documents)
        held = np.searchsorted(rows, search.rows)
        part = unite_pairs(order.parts(targets[rows], N_PARTS, held), search.truth, np.bincount(targets))
        scores = cross_fitted_scores(chosen, pooled, part, search.soft_targets)
        share = len(splits[0].train) / len(targets)
        learnt = [np.searchsorted(rows, split.train) for split in splits]
        aside = [np.searchsorted(rows, split.held_out) for split in splits]
        seen_later = np.concatenate([order.seen_only_in_all(*both) for both in zip(learnt, aside, strict=True)])
        held_out = HeldOutAccuracy.of(
            scores.argmax(axis=1) == search.truth, order.groups()[held], share, seen_later,
            None if document_weight is None else document_weight[held], len(np.unique(order.document[held])),
            unseen_share(one_label_matrix(targets, size.classes), document_weight),
        )  # fmt: skip
        sharing = order.passages.count_documents() / len(rows)
        report = make_report(self.budget, plan, chosen, shares_of, held_out, sharing)
        return {**recipe, "report": report}, HeldOutScores(search.rows, scores)


def _without_others(X: Sparse, columns: Ids) -> Sparse:
    """X with zeros in all columns but `columns`; the shape stays."""
    inside = np.isin(X.indices, columns)
    ends = np.concatenate([[0], np.cumsum(inside)])[X.indptr]
    return csr_array((X.data[inside], X.indices[inside], ends), shape=X.shape)
