"""Labelling in the terminal: a text, the suggested label, and a key for every answer. Works over ssh and pipes."""

from __future__ import annotations

from typing import Any

from unnaive.apps.common.screen import console, echo
from unnaive.apps.labelling import keys
from unnaive.apps.labelling.session_progress import Standing
from unnaive.base.errors import UnnaiveError
from unnaive.curation.labelling.labelling_session import Labelling, Shown
from unnaive.learning.explanation import percent

LONGEST = 4000  # characters of a text that are shown
HELP = """  a, Enter   accept the suggested label      x          reject it: the next best is suggested
  1, 2, …    give that class                 space      skip
  : NAME     give a class by its name        Backspace  undo, as often as you like
  n          a new class                     f          flag for a second look
  / WORDS    only texts with these words     m          more like the suggested class
  q          leave; what you did is kept     ?          this help"""
WAYS = {
    "random": "drawn at random", "measure": "drawn at random to measure the model, so without a suggestion",
    "uncertain": "the model is unsure", "explore": "unlike what was labelled",
    "novel": "unlike all classes of the model",
    "similar": "more like this", "search": "search result; / and Enter for all texts again", "queue": "from the list",
    "second": "also labelled by another person", "undone": "undone", "chosen": "chosen", "review": "to decide",
}  # fmt: skip


class Terminal:
    """The dialogue with one person."""

    def __init__(self, labelling: Labelling, who: str, source: keys.Keys | None = None) -> None:
        self.labelling, self.who = labelling, who
        self.keys = source or keys.Keys()
        self.console = console()
        self.standing = Standing()
        self.ticked: set[str] = set()
        self.said = ""
        self.asked_about = ""  # the new class that was named last; named once more, it is meant

    def run(self) -> None:
        """Ask until no text is left, the person quits, or stdin ends."""
        with keys.single_keys(self.keys):
            echo(HELP)
            last: int | None = None
            while True:
                shown = self.labelling.show(self.who)
                if shown is None:
                    echo(self.labelling.why_done(self.who))
                    if not self._leave_search() and not self._wait_for_undo():
                        return
                    continue
                if shown.text != last:
                    self.ticked, last = set(shown.ticked), shown.text
                self.draw(shown)
                key = self.keys.read()
                if key in ("", keys.QUIT):
                    return
                try:
                    if self.answer(shown, key):
                        last = None
                except UnnaiveError as problem:
                    self.said = str(problem)

    def _leave_search(self) -> bool:
        searching = self.who in self.labelling.among or self.who in self.labelling.wish
        if searching:
            self.labelling.look_for(self.who)
        return searching

    def _wait_for_undo(self) -> bool:
        """At the end: whether the person undoes the last answer."""
        if self.keys.is_terminal:
            echo("Backspace undoes the last answer, q quits")
        while (key := self.keys.read()) not in ("", keys.QUIT):
            if key in keys.UNDO and self.labelling.undo(self.who) is not None:
                return True
        return False

    def draw(self, shown: Shown) -> None:
        """Show one text and the classes."""
        from rich.text import Text

        if self.console.is_terminal:
            self.console.clear()
        summary = self.labelling.summary(self.who)
        labels_so_far = f" · labelled {', '.join(shown.given)} so far" if shown.given else ""
        self.console.print(Text(
            f"{summary['labelled']:,} of {summary['texts']:,} labelled · text {shown.name} · "
            f"{WAYS.get(shown.way, shown.way)}{labels_so_far}", style="dim",
        ))  # fmt: skip
        self.console.print()
        self.console.print(self._body(shown))
        self.console.print()
        self.console.print(self._classes(shown))
        for sentence in self.standing.look(self.labelling)["sentences"]:  # slow, so it comes after the text
            self.console.print(Text(sentence, style="dim"))
        if self.said:
            self.console.print(Text(self.said, style="yellow"))
            self.said = ""

    def _body(self, shown: Shown) -> Any:
        from rich.text import Text

        why = self.labelling.explain(shown)
        text = Text(shown.body) if why is None else why.highlighted()
        if len(text) > LONGEST:
            more = len(text) - LONGEST
            text = text[:LONGEST]
            text.append(f" … and {more:,} more characters", style="dim")
        return text if shown.body.strip() else Text("(an empty text)", style="dim")

    def _classes(self, shown: Shown) -> Any:
        from rich.text import Text

        if not self.labelling.pool.classes:
            return Text("There are no classes yet: press n to name the first.")
        parts = Text()
        key_of = {label: key for key, label in self._keys(shown).items()}
        for label in [*key_of, *sorted(self.ticked - key_of.keys())]:
            share = shown.probabilities.get(label)
            tick = ("[x] " if label in self.ticked else "[ ] ") if self.labelling.pool.multilabel else ""
            words = f"{tick}{key_of.get(label, ':')} {label}{'' if share is None else f' {percent(share)}'}"
            parts.append(words, style="bold reverse" if label == shown.suggested else "")
            parts.append("   ")
        more = len(self.labelling.pool.classes) - len(key_of)
        return parts.append(f"and {more:,} more, by : and the name" if more else "")

    def _keys(self, shown: Shown) -> dict[str, str]:
        return keys.keys_of(self.labelling.pool.classes, shown.probabilities)

    def answer(self, shown: Shown, key: str) -> bool:
        """Handle a key; return whether the text was answered or left."""
        who, at, multilabel = self.who, shown.text, self.labelling.pool.multilabel
        if key in keys.ACCEPT:
            if multilabel:
                self._give(shown, sorted(self.ticked))
            elif shown.suggested is None:
                self.said = "there is no suggestion; choose a class by its key, or add one with n"
                return False
            else:
                self._give(shown, [shown.suggested])
            return True
        if key in keys.UNDO:
            gone = self.labelling.undo(who)
            self.said = "there is nothing to undo" if gone is None else f"undone: {gone.kind} {', '.join(gone.labels)}"
            return gone is not None
        if key in (keys.SKIP, keys.FLAG):
            self.labelling.answer(who, at, "skip" if key == keys.SKIP else "flag", seen=shown.seen)
            return True
        if key == keys.REJECT:
            if shown.suggested is None:
                self.said = "there is no suggestion to reject"
            else:
                self.labelling.answer(who, at, "reject", [shown.suggested], shown.seen)
            return False
        if key in (keys.NEW, keys.NAME, keys.SEARCH, keys.MORE, keys.HELP):
            return self._ask(shown, key)
        label = self._keys(shown).get(key)
        if label is None:
            self.said = f"the key {key!r} does nothing; press ? for help"
            return False
        return self._take(shown, label)

    def _take(self, shown: Shown, label: str) -> bool:
        if self.labelling.pool.multilabel:
            self.ticked ^= {label}
            return False
        self._give(shown, [label])
        return True

    def _give(self, shown: Shown, labels: list[str]) -> None:
        self.labelling.answer(self.who, shown.text, "label", labels, shown.seen)

    def _ask(self, shown: Shown, key: str) -> bool:
        """Handle keys that take words, or that change which texts are shown."""
        if key == keys.HELP:
            self.said = HELP
            return False
        if key == keys.MORE:
            if self.who in self.labelling.wish:
                self.labelling.look_for(self.who)
            elif shown.suggested is not None:
                self.labelling.look_for(self.who, label=shown.suggested)
            else:
                self.said = "there is no suggestion yet, so similar texts cannot be searched"
            return True
        prompts = {keys.NEW: "new class: ", keys.NAME: "class: ", keys.SEARCH: "words (none: all texts): "}
        self.console.print(prompts[key], end="", markup=False)
        words = self.keys.line(self.keys.is_terminal)
        if key == keys.SEARCH:
            text = self.labelling.look_for(self.who, words=words or None)
            if words and not text:
                self.labelling.look_for(self.who)
                self.said = f"no text contains all of: {words}"
            return True
        if not words:
            return False
        if key == keys.NEW:
            again, self.asked_about = words == self.asked_about, words
            self.labelling.add_class(self.who, words, alike=again)
            return self._take(shown, words)
        return self._take(shown, self._find_class(words))

    def _find_class(self, words: str) -> str:
        classes = self.labelling.pool.classes
        if words in classes:
            return words
        like = [name for name in classes if name.casefold().startswith(words.casefold())]
        if len(like) != 1:
            raise UnnaiveError(
                f"there is no class {words!r}; press n to add it" if not like else f"{words!r} may be {', '.join(like)}"
            )
        return like[0]
