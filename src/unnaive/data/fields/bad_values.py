"""Errors about a value that its field cannot have; they name the field, the value and where it is."""

from __future__ import annotations

from unnaive.base.errors import BadData


class BadValue(BadData):
    """A value is not of the kind of its field: `found` describes it, `advice` says what to do."""

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)
        self.found, self.advice = found, advice

    def __str__(self) -> str:
        return f"a value is {self.found}; {self.advice}"


class BadRecord(BadData):
    """A record has a bad value: `problem` names the field, `row` counts from 0, `place` says where the record is.

    >>> print(BadRecord("the age is 'old'", "correct it", 3).at("row 4 of old.csv"))
    the age is 'old' (row 4 of old.csv); correct it
    """

    def __init__(self, problem: str, advice: str, row: int, place: str = "") -> None:
        super().__init__(problem, advice, row, place)
        self.problem, self.advice, self.row, self.place = problem, advice, row, place

    def at(self, place: str) -> BadRecord:
        """The same error with the place of the record."""
        return BadRecord(self.problem, self.advice, self.row, place)

    def __str__(self) -> str:
        return f"{self.problem}{f' ({self.place})' if self.place else ''}; {self.advice}"


def describe_value(value: object) -> str:
    """The beginning of a value for a message.

    >>> describe_value("old"), describe_value(["a"])
    ("'old'", '"[\\'a\\']"')
    """
    return repr(str(value)[:40])
