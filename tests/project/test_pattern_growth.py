"""The time of every regular expression of the package grows about linearly with the text, whatever the text is.

Each pattern is run on texts made of pieces of itself, as often as they can be repeated, by the methods that the source
calls on it. A text decides what can match and what nearly matches; so the hardest ones are prefix + piece × n + rest.
"""

import ast
import importlib
import math
import pkgutil
import re
import time
from functools import partial
from pathlib import Path
from re import _constants as codes
from re import _parser as parser

import pytest

import unnaive

SOURCE = Path(unnaive.__file__).parent
MOST = 1.2  # exponent of the time by the length of the text
RESTS = ("", "\0", "\n", "\rx", "!")
# each method, and the one that takes the same time
METHODS = dict.fromkeys(("finditer", "findall", "sub", "split"), "finditer") | {
    "match": "match", "fullmatch": "fullmatch", "search": "search",
}  # fmt: skip
ENOUGH = 4e-3  # seconds of a run that can be compared with a shorter one: noise is far below
LONGEST = 1 << 16
CANDIDATES = "a1A_ \t\n-.:;,=<>\"'(){}[]?!é\x00\x1f日"


def methods_of(source, name):
    """The methods that are called on a pattern of this name, or on the variables of loops over a list of patterns."""
    loops = re.findall(rf"\bfor ([\w, ]+) in {re.escape(name)}\b", source)
    names = [name, *(variable for loop in loops for variable in loop.split(", "))]
    return {method for method in METHODS for one in names if re.search(rf"\b{re.escape(one)}\.{method}\(", source)}


def constants(values):
    """(name, pattern) of the patterns among the values of a module, lists and tuples of them included."""
    for key, value in values.items():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            parts = part if isinstance(part, tuple) else (part,)
            yield from ((key, one) for one in parts if isinstance(one, re.Pattern))


def literals(tree):
    """(method, pattern) of every re.method("…") with a literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            text = node.args[0]
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if of_re and node.func.attr in METHODS and isinstance(text, ast.Constant):
                flags = sum(
                    getattr(re, keyword.value.attr)
                    for keyword in node.keywords
                    if keyword.arg == "flags" and isinstance(keyword.value, ast.Attribute)
                )
                yield node.func.attr, re.compile(text.value, flags)


def all_patterns():
    """{(pattern, flags): (place, methods)} of the package."""
    found = {}
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    everything = "\n".join(sources.values())

    def add(place, pattern, methods):
        if isinstance(pattern.pattern, str):
            found.setdefault((pattern.pattern, pattern.flags), (place, set()))[1].update(
                METHODS[method] for method in methods or ("match", "fullmatch", "search")
            )

    for path, source in sources.items():
        place = str(path.relative_to(SOURCE))
        for method, pattern in literals(ast.parse(source)):
            add(place, pattern, {method})
    for info in pkgutil.walk_packages([str(SOURCE)], "unnaive."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # an extra that is not installed
            continue
        for key, pattern in constants(vars(module)):
            source = Path(module.__file__).read_text(encoding="utf-8")
            add(f"{info.name}.{key}", pattern, methods_of(source, key) or methods_of(everything, key))
    return found


def character(items):
    """A character of a set."""
    negated = items[0][0] is codes.NEGATE
    for op, value in items:
        if op is codes.LITERAL and not negated:
            return chr(value)
        if op is codes.RANGE and not negated:
            return chr(value[0])
    return next((one for one in CANDIDATES if is_in(one, items)), "a")


def is_in(one, items):
    found = any(
        (op is codes.LITERAL and ord(one) == value)
        or (op is codes.RANGE and value[0] <= ord(one) <= value[1])
        or (op is codes.CATEGORY and bool(re.match(CATEGORIES[value], one)))
        for op, value in items
    )
    return found != (items[0][0] is codes.NEGATE)


CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def children(op, value):
    """The sequences inside an item."""
    if op in REPEATS:
        return [value[2]]
    if op is codes.SUBPATTERN:
        return [value[3]]
    if op is codes.BRANCH:
        return list(value[1])
    if op is codes.ATOMIC_GROUP:
        return [value]
    if op in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return []


def example(sequence):
    """A text that a sequence matches, approximately."""
    out = ""
    for op, value in sequence:
        if op is codes.LITERAL:
            out += chr(value)
        elif op is codes.NOT_LITERAL:
            out += next(one for one in CANDIDATES if ord(one) != value)
        elif op is codes.IN:
            out += character(value)
        elif op is codes.ANY:
            out += "a"
        elif op in REPEATS:
            out += example(value[2]) * max(value[0], 1)
        elif op not in (codes.ASSERT, codes.ASSERT_NOT):
            out += "".join(map(example, children(op, value)[:1]))
    return out


def attacks(sequence, before=""):
    """(prefix, piece to repeat) by the parts of a parsed pattern."""
    items = list(sequence)
    for start, (op, value) in enumerate(items):
        prefix = before + example(items[:start])
        for inner in children(op, value):
            yield from attacks(inner, prefix)
            yield prefix, example(inner)
        if op is codes.IN:
            yield from ((prefix, one) for one in [one for one in CANDIDATES if is_in(one, value)][:4])
        for end in range(start + 1, len(items) + 1):
            yield prefix, example(items[start:end])
            yield "", example(items[start:end])


def attack(prefix, piece, rest, n):
    return prefix + piece * (n // len(piece)) + rest


def run(pattern, method, text):
    if method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def seconds(pattern, method, text, times):
    best = math.inf
    for _ in range(times):
        start = time.thread_time()
        run(pattern, method, text)
        best = min(best, time.thread_time() - start)
    return best


def exponent(pattern, method, make):
    """Of the time by the length, where it can be measured; 0 for what is fast even on long texts."""
    n = 256
    while n < LONGEST and seconds(pattern, method, make(n), 1) < ENOUGH:
        n *= 2
    if n >= LONGEST and seconds(pattern, method, make(n), 1) < ENOUGH:
        return 0.0
    found = math.inf
    for _ in range(4):  # what other programs do on the machine is no property of a pattern
        long, short = seconds(pattern, method, make(n), 2), seconds(pattern, method, make(n // 4), 5)
        found = min(found, math.log(long / max(short, 1e-7)) / math.log(4))
        if found <= MOST:
            break
    return found


def slowest(pattern, methods):
    """(exponent, method, attack) of the worst attack on a pattern."""
    worst = (0.0, "", ("", "", ""))
    tried = {(prefix[-200:], piece[:100]) for prefix, piece in attacks(parser.parse(pattern.pattern, pattern.flags))}
    for prefix, piece in sorted(tried):
        for rest in RESTS if piece else ():
            for method in sorted(methods):
                power = exponent(pattern, method, partial(attack, prefix, piece, rest))
                worst = max(worst, (power, method, (prefix, piece, rest)))
                if power > 1.5:
                    return worst
    return worst


@pytest.mark.slow
def test_no_pattern_takes_time_that_grows_faster_than_the_text():
    found = {
        (place, pattern): worst
        for (pattern, flags), (place, methods) in sorted(all_patterns().items())
        if (worst := slowest(re.compile(pattern, flags), methods))[0] > MOST
    }
    assert not found, "\n".join(f"{key}: {worst}" for key, worst in found.items())


def test_the_attack_finds_patterns_that_are_known_to_be_quadratic():
    known = {
        r"charset\*?[^;\n]*(?:idna|punycode)": "search",
        r"([!-9]+):[ \t]*([^\r\n]*)(?:\n|\Z)": "match",
        r"\s*a?\s*": "fullmatch",
    }
    for pattern, method in known.items():
        assert slowest(re.compile(pattern), {method})[0] > 1.5, pattern
    assert slowest(re.compile(r"([!-9;-~]++):[ \t]*+([^\r\n]*+)(?:\n|\Z)"), {"match"})[0] <= MOST
