"""What `evaluate` prints for data without labels: the estimated accuracy, and why not to believe it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.base.errors import count_noun

if TYPE_CHECKING:
    from unnaive.workflows.estimate_accuracy import EstimateResult

CAVEAT = (
    "Compared by probabilities with held-out training documents. It is too high where new documents have classes that "
    "the model does not know, or where words have come to mean other labels: no estimate without labels can see that."
)


def show_estimate(result: EstimateResult) -> None:
    """The estimate for people. Reasons not to believe it come first, and then no estimate is the first figure."""
    from unnaive.apps.common.screen import console, plain_table

    estimate, screen = result.estimate, console()
    held_out = f"accuracy on {count_noun(estimate.held_out_documents, 'held-out document')}", f"{estimate.held_out:.4f}"
    rows = [
        ("  95 % interval", f"{estimate.low:.4f} to {estimate.high:.4f}"),
        ("  by the mean probability", f"{estimate.by_confidence:.4f}"),
        ("  by a threshold of probability", f"{estimate.by_threshold:.4f}"),
    ]
    if estimate.doubts:
        rows = [held_out, ("estimate, were these like them", f"{estimate.accuracy:.4f}"), *rows]
    else:
        rows = [("estimated accuracy", f"{estimate.accuracy:.4f}"), *rows, held_out]
    table = plain_table(count_noun(estimate.documents, "document") + " without labels", ">value")
    for row in rows:
        table.add_row(*row)
    screen.print()
    for sentence in estimate.doubts:
        screen.print(f"Do not believe the estimate: {sentence}.", markup=False, style="yellow")
    screen.print(table)
    screen.print(CAVEAT, markup=False, style="dim")
