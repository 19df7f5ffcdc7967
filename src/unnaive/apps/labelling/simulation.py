"""`unnaive label simulate`: learning curves of query strategies on labelled data, as a table, a page or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.report_identity import identify
from unnaive.apps.common.screen import console, echo, plain_table, show_event
from unnaive.base.errors import count_noun
from unnaive.base.visible_text import visible_json
from unnaive.curation.labelling.simulate import WAYS, LabellingCurve, seed_sign_test, simulate
from unnaive.data.corpus import Corpus
from unnaive.data.word_vectors import WordVectors
from unnaive.evaluation.reports.identity import Identity
from unnaive.io.datafiles import DataFile
from unnaive.text.tokens import TokenRule
from unnaive.workflows.corpora import read_corpus
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.source_fields import settle_fields


def run_simulation(
    data: DataFile, *, labels: int, seeds: int, seed: int, report: Sequence[Path] | None, as_json: bool,
    vectors: WordVectors | None = None,
) -> None:  # fmt: skip
    """Read the data, replay the labelling, and print the result; the plot goes to a page."""
    data, fields = settle_fields(data, Feedback(show_event))
    corpus = read_corpus(data, None, Feedback(show_event))
    pool, test = split_corpus(corpus, seed)
    with Progress("simulating", len(WAYS) * seeds) as bar:
        curves = simulate(
            pool,
            test,
            labels=min(labels, len(pool) // 2),
            seeds=seeds,
            seed=seed,
            progress=lambda *_: bar.advance(1),
            vectors=vectors,
            rule=TokenRule(fields=fields),
        )
    summary = describe_curves(curves)
    for path in report or ():
        write_page(curves, path, corpus.name, simulation_verdict(summary), identify({"data": data.paths}))
        summary["file"] = str(path)
    if as_json:
        echo(visible_json(summary))
        return
    table = plain_table("strategy", ">accuracy", ">labels for random's accuracy", ">share", ">p")
    for row in summary["ways"]:
        needed = "not reached" if row["labels_needed"] is None else f"{row['labels_needed']:.0f}"
        share = "" if row["share"] is None else f"{100 * row['share']:.0f} %"
        table.add_row(
            row["way"], f"{row['accuracy']:.3f}", needed, share, "" if row["p"] is None else f"{row['p']:.3f}"
        )
    console().print(table)
    labels_, aside = count_noun(summary["labels"], "label"), count_noun(len(test), "text")
    about = f"accuracy at {labels_} on {aside} held out, mean of {count_noun(seeds, 'seed')}"
    echo(f"{about}; p of a sign test of each strategy against random over the seeds")


def split_corpus(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """The pool and the held-out texts: by the corpus's own split, else two thirds and one third at random."""
    import numpy as np

    one_label = np.flatnonzero([len(set(labels)) == 1 for labels in corpus.labels])
    corpus = corpus.take(one_label)
    if corpus.split is not None and {"train", "test"} <= set(corpus.split):
        return corpus.part("train"), corpus.part("test")
    order = np.random.default_rng(seed).permutation(len(corpus))
    cut = len(corpus) * 2 // 3
    return corpus.take(np.sort(order[:cut])), corpus.take(np.sort(order[cut:]))


def describe_curves(curves: list[LabellingCurve], at: int | None = None) -> dict[str, Any]:
    """Accuracy at `at` labels (default: the last point), labels needed to match random sampling, and significance."""
    base = next(curve for curve in curves if curve.way == "random")
    index = len(base.labels) - 1 if at is None else max(p for p, n in enumerate(base.labels) if n <= at)
    goal = float(base.mean[index])
    ways = []
    for curve in curves:
        needed = curve.labels_for(goal)
        ways.append({
            "way": curve.way, "accuracy": float(curve.mean[index]), "labels_needed": needed,
            "share": None if needed is None else needed / base.labels[index],
            "p": None if curve is base else seed_sign_test(curve.accuracy[:, index] - base.accuracy[:, index]),
            "curve": [{"labels": n, "accuracy": float(mean)} for n, mean in zip(curve.labels, curve.mean, strict=True)],
        })  # fmt: skip
    return {"labels": base.labels[index], "seeds": len(base.accuracy), "goal": goal, "ways": ways}


def simulation_verdict(summary: dict[str, Any]) -> str:
    """The best strategy, and the labels that it needs for the accuracy of random sampling, in one sentence.

    >>> ways = [{"way": "random", "accuracy": 0.8, "share": 1.0, "p": None},
    ...         {"way": "margin", "accuracy": 0.9, "share": 0.5, "p": 0.002}]
    >>> simulation_verdict({"labels": 500, "goal": 0.8, "seeds": 10, "ways": ways})[:60]
    'With 500 labels, margin has the highest accuracy, 0.900; for'
    """
    best = max(summary["ways"], key=lambda row: row["accuracy"])
    labels = count_noun(summary["labels"], "label")
    found = f"With {labels}, {best['way']} has the highest accuracy, {best['accuracy']:.3f}"
    if best["way"] == "random" or best["share"] is None:
        return f"{found}; random sampling has {summary['goal']:.3f}."
    share = f"{100 * best['share']:.0f} % of the labels"
    tested = "" if best["p"] is None else f" (p {best['p']:.2g}, sign test over {count_noun(summary['seeds'], 'seed')})"
    return f"{found}; for {summary['goal']:.3f}, that of random sampling, it needs {share}{tested}."


def write_page(curves: list[LabellingCurve], path: Path, name: str, verdict: str, identity: Identity) -> None:
    """Write a page with the plot.

    Mean accuracy against labels, with a band of one standard deviation over the seeds.
    """
    from unnaive.evaluation.reports import html_page as html
    from unnaive.evaluation.reports.plots import curves_figure
    from unnaive.evaluation.summaries import MeasureCurve as MeasuredCurve
    from unnaive.io.writing.output_files import open_output

    shown = [
        MeasuredCurve(curve.way, curve.labels, tuple(curve.mean.tolist()), tuple(curve.accuracy.std(axis=0).tolist()))
        for curve in curves
    ]
    ends = ", ".join(f"{curve.name} {curve.mean[0]:.3f} to {curve.mean[-1]:.3f}" for curve in shown)
    drawn = html.figure(
        curves_figure,
        shown,
        title=name,
        x="labels given",
        y="accuracy",
        alt=f"Accuracy by number of labels: {ends}",
        caption="Mean over the seeds; the band is one standard deviation on either side.",
        kind="wide",
    )
    with open_output(path) as file:
        sections = [html.Section("Accuracy", drawn)]
        file.write(html.page(f"Query strategies: {name}", verdict, sections, identity=identity))
