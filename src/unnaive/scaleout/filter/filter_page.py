"""The report of a filter: as sentences, as JSON and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from unnaive.base.elementary import exp, log, logaddexp
from unnaive.base.errors import count_noun
from unnaive.base.types import Floats
from unnaive.evaluation.recall_threshold import RecallThreshold
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports import plots
from unnaive.evaluation.reports.identity import Identity
from unnaive.scaleout.filter.filter_tally import BIN_WIDTH, LOWEST, FilterTally, SampledText
from unnaive.scaleout.filter.keep_rule import KeepRule
from unnaive.scaleout.filter.run import FilterOutcome

MOST_BARS = 60
SHARDS_SHOWN = 50
PROBABILITIES = (1e-9, 1e-6, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 - 1e-6, 1 - 1e-9)  # marked below the histogram


@dataclass(frozen=True)
class FilterReport:
    """The result of a filter, for reports.

    model          its name
    keep           the classes that are kept
    threshold      the lowest score kept; `probabilistic` says whether scores are log-odds of probabilities
    multilabel     whether the classes are not exclusive, so that the highest of their scores counts
    outcome        the numbers of texts and shards
    choice         how the threshold was chosen on held-out texts; None if the user gave it
    """

    model: str
    keep: tuple[str, ...]
    threshold: float
    probabilistic: bool
    outcome: FilterOutcome
    choice: RecallThreshold | None = None
    multilabel: bool = False

    @classmethod
    def of(cls, rule: KeepRule, outcome: FilterOutcome, model: str, choice: RecallThreshold | None) -> FilterReport:
        """The report on a rule and its outcome."""
        names = tuple(str(label) for label in rule.keep)
        fitted = rule.fitted
        return cls(model, names, rule.threshold, fitted.probabilistic, outcome, choice, fitted.multilabel)

    @property
    def tally(self) -> FilterTally:
        """The tally of all texts."""
        return self.outcome.tally

    def describe_score(self, score: float) -> str:
        """A score for people: as a probability if the model gives probabilities."""
        return f"p = {format_odds(score)}" if self.probabilistic else f"score {score:.3g}"

    def describe_threshold(self) -> str:
        """The condition for keeping a text, in words."""
        names = " or ".join(self.keep)
        if self.probabilistic:
            chances = " or ".join(f"p({name})" for name in self.keep) if self.multilabel else f"p({names})"
            return f"texts with {chances} ≥ {format_odds(self.threshold)}"
        if self.multilabel:
            return f"texts with a score of {names} ≥ {self.threshold:.3g}"
        return f"texts whose score of {names} leads by {self.threshold:.3g} or more"

    def sentences(self) -> list[str]:
        """The result in one or two lines."""
        tally = self.tally
        share = 100 * tally.kept / max(1, tally.texts)
        earlier = self.outcome.resumed
        resumed = f" ({count_noun(earlier, 'shard')} by an earlier run)" if earlier else ""
        facts = [
            f"kept {tally.kept:,} of {count_noun(tally.texts, 'text')} ({share:.1f} %), "
            f"{format_megabytes(tally.bytes_kept)} of {format_megabytes(tally.bytes_read)} MB, in "
            f"{count_noun(len(self.outcome.shards), 'shard')}{resumed}: {self.describe_threshold()}"
        ]
        return facts + ([] if self.choice is None else [self.choice.describe()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        tally = self.tally
        return {
            "model": self.model, "keep": list(self.keep),
            "threshold": self.threshold if np.isfinite(self.threshold) else None,
            "probability": probability_of(self.threshold) if self.probabilistic else None,
            "texts": tally.texts, "kept": tally.kept, "bytes_read": tally.bytes_read, "bytes_kept": tally.bytes_kept,
            "skipped": tally.skipped, "shards": len(self.outcome.shards), "resumed": self.outcome.resumed,
        }  # fmt: skip


def format_megabytes(n_bytes: int) -> str:
    """Bytes in MB, with more digits for small sizes.

    >>> format_megabytes(1_234_567_890), format_megabytes(12_345)
    ('1,234.6', '0.012')
    """
    return f"{n_bytes / 1e6:,.1f}" if n_bytes >= 1e6 else f"{n_bytes / 1e6:.3f}"


def format_odds(log_odds: float) -> str:
    """The probability of log-odds, with more digits near 0 and 1.

    >>> format_odds(0.0), format_odds(-9.0), format_odds(9.0), format_odds(np.inf)
    ('0.5', '0.000123', '1 − 0.000123', '1')
    """
    small = probability_of(-abs(log_odds))
    if log_odds <= 0:
        return f"{small:.3g}"
    return f"{1 - small:.3g}" if small > 0.001 or not small else f"1 − {small:.3g}"


def probability_of(log_odds: float) -> float:
    """The probability with these log-odds.

    >>> probability_of(0.0), probability_of(-np.inf)
    (0.5, 0.0)
    """
    return float(exp(-logaddexp(0.0, -log_odds)))


def filter_page(report: FilterReport, *, identity: Identity | None = None) -> str:
    """The whole HTML page."""
    return html.page(
        f"{report.model}: what was kept",
        f"{_capital(report.sentences()[0])}.",
        [
            html.Section("Summary", kept_section(report)),
            html.Section("Scores", score_section(report)),
            html.Section("Dropped, at random", text_table(report, report.tally.dropped, "Dropped texts")),
            html.Section("Nearly kept", text_table(report, report.tally.nearly, "Dropped texts of the highest scores")),
            html.Section("Barely kept", text_table(report, report.tally.barely, "Kept texts of the lowest scores")),
            html.Section("Shards", shard_table(report)),
        ],
        identity=identity,
    )


def kept_section(report: FilterReport) -> str:
    """How much was kept, and the guarantee."""
    tally = report.tally
    tiles = html.tiles(
        [
            ("texts", f"{tally.texts:,}"),
            ("kept", f"{tally.kept:,}"),
            ("share kept", f"{100 * tally.kept / max(1, tally.texts):.1f} %"),
            ("MB kept", f"{format_megabytes(tally.bytes_kept)} of {format_megabytes(tally.bytes_read)}"),
        ]
    )
    promised = "" if report.choice is None else html.page_note(escape(_capital(report.choice.describe())) + ".")
    skipped = html.page_note(f"{count_noun(tally.skipped, 'line')} could not be read.") if tally.skipped else ""
    return tiles + promised + skipped


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def score_section(report: FilterReport) -> str:
    """The histogram of scores."""
    edges, counts = group_bins(report.tally.histogram)
    ticks = _probability_ticks(edges) if report.probabilistic else None
    what = "probability" if report.probabilistic else "score"
    return html.figure(
        plots.histogram_figure, edges, counts, report.threshold,
        title="Texts by score", x=what, ticks=ticks, alt=f"Histogram of the {what} of all texts, cut at the threshold",
        caption=f"To the right of the line is kept: {report.describe_threshold()}. Scores beyond the ends are in the "
        "last bars.",
    )  # fmt: skip


def group_bins(histogram: Any) -> tuple[Floats, Floats]:
    """(edges, counts) of a histogram without its empty ends, in at most MOST_BARS bars of equal width."""
    filled = np.flatnonzero(histogram)
    first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 1)
    width = -(-(last - first) // MOST_BARS)
    n_bars = -(-(last - first) // width)
    padded = np.zeros(n_bars * width)
    padded[: last - first] = histogram[first:last]
    edges = np.asarray(LOWEST + BIN_WIDTH * (first + width * np.arange(n_bars + 1)), np.float64)
    return edges, padded.reshape(n_bars, width).sum(axis=1)


def _probability_ticks(edges: Floats) -> list[tuple[float, str]]:
    places = [(float(log(p / (1 - p))), p) for p in PROBABILITIES]
    inside = [(position, format_odds(position)) for position, _ in places if edges[0] <= position <= edges[-1]]
    return inside or [(float(edge), format_odds(float(edge))) for edge in (edges[0], edges[-1])]


def text_table(report: FilterReport, texts: Sequence[SampledText], label: str) -> str:
    """A row for each sampled text."""
    if not texts:
        return ""
    rows = [
        (
            html.breakable(f"{sampled.shard}, {sampled.row + 1:,}"),
            f'<td data-sort="{sampled.score:.9g}">{escape(report.describe_score(sampled.score))}</td>',
            f'<td class="text" dir="auto">{escape(" ".join(sampled.text.split())[:500])}</td>',
        )
        for sampled in texts
    ]
    return html.table(("shard and number of the text", "score", "text"), rows, kind="findings", label=label)


def shard_table(report: FilterReport) -> str:
    """How much of each shard was kept; if there are many shards, only the first are shown."""
    shards = report.outcome.shards
    rows = [
        (
            html.breakable(name),
            html.bar(kept / max(1, texts), f"share of {name} that is kept"),
            f"{kept:,}",
            f"{texts:,}",
        )
        for name, texts, kept in shards[:SHARDS_SHOWN]
    ]
    more = html.page_note(f"{len(shards) - SHARDS_SHOWN:,} more.") if len(shards) > SHARDS_SHOWN else ""
    return html.table(("shard", "kept, 0 to 1", "kept", "texts"), rows, kind="bars", label="Shards") + more
