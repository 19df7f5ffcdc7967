"""Words: phrases that readers had to read twice do not come back, and the spelling is British."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILES = (".py", ".md", ".js", ".ts", ".html", ".toml", ".h", ".cpp", ".in")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "RELEASING.md", "benchmarks/README.md")

# the phrase, and what to write instead
PHRASES = {
    "which are those that": "name the subject",
    "is no table": "is not a table",
    "breaks off or is damaged": "is truncated or damaged",
    "give a name in": "give a name that ends in",
    "say --": "use --",
    "is no mbox": "is not an mbox file",
    "is no .npy": "is not an .npy file",
    "is no network": "is not a Bayesian network",
    "is no model of": "is not a model of",
    "no finite number": "NaN or infinity",
    "embed alike": "embed all with one model",
    "that nothing closes": "is never closed",
    "are whole rows": "are complete rows",
    "bare delimiter": "unquoted delimiter",
    "that nobody writes to": "without a writer",
    "is of no one type": "has values of several types",
    "a view without an end": "an endless view",
    "tells the label by itself": "reveals the label",
    "is evidently a field": "was recognised as a field",
    "and a value of it is": "but a value is",
    "the folder you are in": "the current folder",
    "is called like": "matches",
    "but for case or spaces": "would be … if case and spaces were ignored",
    "in case or spaces alone": "only in case or spaces",
    "too few to learn and measure": "too few to train and test",
    "byte-order mark is believed": "a byte-order mark is recognised",
    "to the other verbs": "to the other commands",
    "the one that is meant by": "choose one by",
    "no split at all": "no split",
    "where the header has": "but the header has",
    "no known checksum fits": "its checksum is not a known one",
    "no file named like": "no file whose name matches",
    "at another place than": "at the wrong position",
    "deep in one another": "nested",
    "utf-8 can hold": "cannot be encoded as UTF-8",
    "message parts are read of": "message parts are read from",
    "do not fit together": "do not match",
    "is none that fasttext has": "is unknown",
    "run in a circle": "form a cycle",
    "learn from in the end": "in the final fit",
    "too many for auto to search for": "too many for a search",
    "one class alone has": "only one class has",
    "of classes by themselves": "one-vs-rest",
    "must trust nothing": "must check every value",
    "beyond all bounds": "too large",
    "reads texts by itself": "needs texts",
    "make no huffman tree": "do not form a Huffman tree",
    "hardly a term": "hardly any term",
    "trains it anew": "retrains the model",
    "write each by itself": "write each to its own file",
    "has no approximate update": "cannot be updated approximately",
    "Of everything random": "Random seed.",
    "Make probabilities true": "Calibrate probabilities.",
    "honest probabilities": "calibrated probabilities",
    "a piece of a word": "a character n-gram",
    "several labels each": "multilabel",
    "Let no set be empty": "Never return an empty set.",
    "keeps its word": "is calibrated",
    "too sure of itself": "overconfident",
    "are told apart too": "are distinguished",
    "under their eyes": "while it is mapped",
    "who has gone": "the client has disconnected",
    "took over": "was loaded",
    "is not whole": "is incomplete",
    "is no list": "is not a list",
    "is no whole number": "is not an integer",
    "none for a sound one": "None if it is valid",
    "made-up cases": "pseudo-counts",
    "beyond all numbers": "overflows",
    "what was learnt, for": "the fitted state",
    "are let go": "are freed",
    "is let go": "is freed",
    "to the letter": "literally",
    "by lot": "at random",
    "what a client may take": "limits for clients",
    "there are never three of all of them": "at most one extra table is in memory",
    "trusts nothing": "every value is checked",
    "speak most for": "the strongest terms",
    "spoke for": "evidence for",
    "whole or not at all": "atomically",
    "nobody can tell": "if unknown",
    "where nobody": "if unknown",
    "beyond all measure": "exceeds the limit",
    "what is said of": "the result for",
    "hold no model of": "are too few for a model of",
    "in its description speaks": "which its description does not mention",
    "which no export can do": "which no export supports",
    "what was there is untouched": "nothing was changed",
    "is no receipt": "is not a receipt",
    "is no export": "is not an export",
    "what others call": "public functions",
    "nobody foretells": "cannot be predicted",
    "is written over it": "overwrites it",
    "left alone where": "not written if",
    "keep their word": "are calibrated",
    "hardly minds": "other programs hardly affect",
    "so many times over": "repeated … times",
    "is no regular file": "is not a regular file",
    "no model, or a damaged one": "is not a model, or it is damaged",
    "says otherwise than": "differs from",
    "follow one another, after to before": "form a chain",
    "kept no scores of held-out": "has no scores of held-out documents",
    "no text is left but": "all texts are done but …",
    "labels are decided for": "the decision maximises or minimises",
    "gives rare classes their due": "predicts rare classes more often",
    "were not looked for": "were not searched for",
    "is of another run": "was written by another run",
    "goes on where it was": "continues where it stopped",
    "what came is being learnt": "the lines that have arrived are learnt",
    "has no room for what": "has too little space for",
    "that of the surest": "the most certain documents reach",
    "chooses nothing": "does not select among models",
    "does not go with": "cannot be combined with",
    "the measures flatter": "the measures are too high",
    "can be had": "is available",
    "could not be had": "is not available",
    "was taken for": "was predicted as",
    "name the new one otherwise": "choose another name for the new column",
    "is not in sight": "more labels will hardly raise accuracy",
    "when nobody writes": "when no program writes",
    "of which no machine sees": "each machine has only a part",
    "before the first with several": "before the first document with more than one label",
    "for a guarantee of their own": "for a separate guarantee",
    "spelt anew": "renamed",
    "nothing of the documents": "without counts or documents",
    "neither adds nor ends": "cannot add or remove",
    "guessed if evident": "by default guessed",
    "is to be had": "is available",
    "by models of": "by models trained on",
    " at hand": "available",
    "one option away": "not the default",
    "nobody would": "could go unnoticed",
    "take turns": "say which is used when",
    "the file of training": "the same file as training",
    "gives the model of": "equals a model trained on",
    "give the model of": "equals a model trained on",
    "not asserted": "no test compares them",
    "with chance in them": "randomised",
    "two in one": "join two documents",
    "the surest": "the most certain",
    "says otherwise": "sets another value",
    "a second and core": "per second on one core",
    "is to pass": "must be above",
    "foretold": "predicted",
    "beyond noise": "significantly",
    "above even odds": "with a probability over 0.5",
    "is no number": "is not a number",
    "what python refuses": "values that Python refuses",
    "else detected": "by default guessed",
    "in turns": "in alternating runs",
    "as it comes": "with default settings",
    "idle but for": "otherwise idle",
    "but for the": "except for the",
    "made-up": "synthetic, or fictional",
    " anew": "again",
}
AMERICAN = ("behavior", "recognize", "organized", "summarize", "neighbor ", "favorite", "catalog ", "judgment")


@cache
def pages() -> dict[str, str]:
    """The text of every source file and page by name, on one line in lower case."""
    places = ["src", "docs", "examples", "benchmarks", "tools", *PAGES]
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", *places], cwd=ROOT, capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
    else:
        names = [
            path.relative_to(ROOT).as_posix()
            for place in places
            for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
        ]
    read = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if name.endswith(FILES)}
    return {name: re.sub(r"\s+(?:# |// )?", " ", text).lower() for name, text in read.items()}


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_may_not_come_back(phrase: str) -> None:
    found = [name for name, text in pages().items() if phrase.lower() in text]
    assert not found, f"{phrase!r} in {', '.join(found)}; better: {PHRASES[phrase]}"


@pytest.mark.parametrize("word", AMERICAN)
def test_the_spelling_is_british(word: str) -> None:
    found = [name for name, text in pages().items() if word in text]
    assert not found, f"{word!r} in {', '.join(found)}"


def test_the_glossary_has_at_most_twenty_words() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+) \|", glossary.partition("## Names of options")[0], re.MULTILINE)[1:]
    assert len(words) == len(set(words)) <= 20
    assert "glossary.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
