"""The text that an annotator sees next, chosen while the present one is read.

It is not reserved in the record: other annotators of this process get other texts, but this one if nothing else is
left, and a process that was killed leaves nothing behind. Whoever answers the present text reserves the next one; if
it was given away or decided in the meantime, another one is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unnaive.curation.labelling.asking import Question

if TYPE_CHECKING:
    from unnaive.curation.labelling.labelling_session import Shown


@dataclass(frozen=True)
class Ahead:
    """The text that follows another one.

    after    the present text
    classes  the classes when it was chosen; with others, the prediction is not what a person should see
    n_texts  the number of texts then; with more, other texts measure the model
    """

    after: int
    question: Question
    shown: Shown
    classes: tuple[str, ...]
    n_texts: int


class TextsAhead:
    """The next text of each annotator.

    >>> ahead = TextsAhead()
    >>> ahead.put("ann", Ahead(3, Question(5, "random"), None, ("a",), 9))
    >>> ahead.of_others("bob"), ahead.of_others("ann"), ahead.take("ann", 4), ahead.get("ann")
    ({5}, set(), None, None)
    """

    def __init__(self) -> None:
        self._texts: dict[str, Ahead] = {}

    def put(self, who: str, ahead: Ahead) -> None:
        """Keep the next text of an annotator."""
        self._texts[who] = ahead

    def get(self, who: str) -> Ahead | None:
        """The next text of an annotator; None if none was chosen."""
        return self._texts.get(who)

    def take(self, who: str, after: int) -> Ahead | None:
        """Remove the next text of an annotator, and return it if it follows `after`."""
        ahead = self._texts.pop(who, None)
        return ahead if ahead is not None and ahead.after == after else None

    def drop(self, who: str) -> None:
        """Forget the next text of an annotator."""
        self._texts.pop(who, None)

    def of_others(self, who: str) -> set[int]:
        """The next texts of the other annotators."""
        return {ahead.question.text for name, ahead in self._texts.items() if name != who}
