"""`unnaive label --simulate`: curves of ways of asking on labelled data, as a table, a page or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unnaive.apps.cli.options import make_output_folders, read_corpus
from unnaive.apps.cli.screen import Progress, console, echo, plain_table
from unnaive.base.errors import count_noun
from unnaive.base.visible_text import visible_json
from unnaive.curation.labelling.simulate import WAYS, LabellingCurve, seed_sign_test, simulate
from unnaive.data.word_vectors import WordVectors
from unnaive.io.corpus import Corpus
from unnaive.io.datafiles import DataFile


def run_simulation(
    data: DataFile, *, labels: int, seeds: int, seed: int, html: Path | None, as_json: bool,
    vectors: WordVectors | None = None,
) -> None:  # fmt: skip
    """Read, replay, print; the plot goes to an SVG file."""
    make_output_folders([html])
    corpus = read_corpus(data, None)
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
        )
    found = describe_curves(curves)
    if html is not None:
        write_page(curves, html, corpus.name)
        found["file"] = str(html)
    if as_json:
        echo(visible_json(found))
        return
    table = plain_table("way of asking", ">accuracy", ">labels for random's accuracy", ">share", ">p")
    for one in found["ways"]:
        needed = "not reached" if one["labels_needed"] is None else f"{one['labels_needed']:.0f}"
        share = "" if one["share"] is None else f"{100 * one['share']:.0f} %"
        table.add_row(
            one["way"], f"{one['accuracy']:.3f}", needed, share, "" if one["p"] is None else f"{one['p']:.3f}"
        )
    console().print(table)
    given, aside = count_noun(found["labels"], "label"), count_noun(len(test), "text")
    about = f"accuracy at {given} on {aside} aside, mean of {count_noun(seeds, 'seed')}"
    echo(f"{about}; p by a sign test of each way against random over the seeds")


def split_corpus(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """The pool and the texts aside: by the corpus's own split, else two thirds and one third at random."""
    import numpy as np

    one_label = np.flatnonzero([len(set(labels)) == 1 for labels in corpus.labels])
    corpus = corpus.take(one_label)
    if corpus.split is not None and {"train", "test"} <= set(corpus.split):
        return corpus.part("train"), corpus.part("test")
    order = np.random.default_rng(seed).permutation(len(corpus))
    cut = len(corpus) * 2 // 3
    return corpus.take(np.sort(order[:cut])), corpus.take(np.sort(order[cut:]))


def describe_curves(curves: list[LabellingCurve], at: int | None = None) -> dict[str, Any]:
    """Accuracy at so many labels (the last point), labels needed for that of random sampling, and significance."""
    base = next(one for one in curves if one.way == "random")
    place = len(base.labels) - 1 if at is None else max(p for p, n in enumerate(base.labels) if n <= at)
    goal = float(base.mean[place])
    ways = []
    for one in curves:
        needed = one.labels_for(goal)
        ways.append({
            "way": one.way, "accuracy": float(one.mean[place]), "labels_needed": needed,
            "share": None if needed is None else needed / base.labels[place],
            "p": None if one is base else seed_sign_test(one.accuracy[:, place] - base.accuracy[:, place]),
            "curve": [{"labels": n, "accuracy": float(value)} for n, value in zip(one.labels, one.mean, strict=True)],
        })  # fmt: skip
    return {"labels": base.labels[place], "seeds": len(base.accuracy), "goal": goal, "ways": ways}


def write_page(curves: list[LabellingCurve], path: Path, name: str) -> None:
    """A page with the plot: mean accuracy against labels, with the band of one standard deviation over the seeds."""
    from unnaive.evaluation.reports import page as html
    from unnaive.evaluation.reports.plots import curves_figure
    from unnaive.evaluation.summaries import MeasureCurve as MeasuredCurve
    from unnaive.io.output_files import open_output

    shown = [
        MeasuredCurve(one.way, one.labels, tuple(one.mean.tolist()), tuple(one.accuracy.std(axis=0).tolist()))
        for one in curves
    ]
    ends = ", ".join(f"{one.name} {one.mean[0]:.3f} to {one.mean[-1]:.3f}" for one in shown)
    drawn = html.figure(
        curves_figure,
        shown,
        title=name,
        x="labels given",
        y="accuracy",
        alt=f"Accuracy by labels given: {ends}",
        caption="Mean over the seeds; the band is one standard deviation on either side.",
        kind="wide",
    )
    with open_output(path) as file:
        file.write(html.page(f"Ways of asking: {name}", "Labelling replayed", [html.Section("Accuracy", drawn)]))
