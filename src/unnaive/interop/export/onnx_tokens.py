"""Text → counts of terms as an ONNX graph, exactly as tokens.py reads texts.

onnxruntime's Tokenizer cuts texts into characters, and a LabelEncoder folds their case and numbers them. Characters
that occur in no term share a number with others of the same kind (onnx_alphabet.py). A finite automaton finds where
words, runs and emoji begin and end (onnx_automaton.py); its transitions are composed in log2(length) steps. Kept
characters are written in a row with borders between them, and a TfIdfVectorizer counts the terms in that row: a term is
an n-gram of characters and borders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.interop.export.onnx_alphabet import (
    BRACKETS,
    DIGITS,
    EMOJI_SELECTOR,
    EYES,
    JOINER,
    KEYCAP,
    LETTER,
    MARK,
    MOUTHS,
    NOSES,
    NUMBER,
    PADDING,
    PICTURE,
    REGIONS,
    SELECTORS,
    SPACE,
    TAGS,
    TEXT_PICTURE,
    TONES,
    UNSPACED,
    make_alphabet,
)
from unnaive.interop.export.onnx_automaton import (
    BEGIN_PICTURE,
    BEGINNINGS,
    IN_RUN,
    IN_WORD,
    IS_MARK,
    JOINED,
    LATE_TONE,
    NO_LETTER,
    PICTURED,
    RUN,
    SELECTOR,
    TAG,
    THREE,
    TONE,
    TWO,
    WORD,
    transitions,
)
from unnaive.interop.export.onnx_graph import BOOL, END, INT64, Graph
from unnaive.interop.export.portable import PortableModel
from unnaive.text.tokens import BORDERS, GRAM

LONGEST_SIGN = 4  # characters of lookahead


class TextReader:
    """Adds the nodes that count the terms of `texts` (n_texts,) to a graph.

    columns  the term id of each column of the counts
    """

    def __init__(self, graph: Graph, model: PortableModel, texts: str) -> None:
        self.graph, self.model, self.rule = graph, model, model.rule
        self.alphabet = make_alphabet(model)
        size = self.alphabet.size
        self.word_border, self.character_border, self.run_border, self.gram_border = range(size, size + 4)
        characters = graph("Tokenizer", texts, domain="com.microsoft", mark=0, mincharnum=1, pad_value=PADDING,
                           separators=[""])  # fmt: skip
        numbers = graph("LabelEncoder", characters, domain="ai.onnx.ml", keys_strings=self.alphabet.keys,
                        values_int64s=self.alphabet.numbers, default_int64=self.alphabet.other)  # fmt: skip
        self.numbers: str = graph("Pad", numbers, [0, 0, 0, LONGEST_SIGN])

    def count(self) -> tuple[str, NDArray[np.int64]]:
        """The counts (n_texts, n_columns), and the term of each column."""
        rows, columns = [], []
        terms = self.model.terms.terms
        for is_gram, write, spell in (
            (False, self._write_words, self._spell_word),
            (True, self._write_grams, self._spell_gram),
        ):
            if self.rule.analyzer == ("word" if is_gram else "char"):
                continue
            spelt = [
                (spell(term), term_id)
                for term_id, term in enumerate(terms)
                if (term.startswith(GRAM) and self.rule.analyzer != "word") == is_gram
            ]
            spellings = [(spelling, term_id) for spelling, term_id in spelt if spelling is not None]
            if spellings:
                rows.append(self._find(write(), spellings))
                columns += [term_id for _, term_id in spellings]
        if not rows:  # a model without terms
            none = self.graph("Mul", self.graph("Slice", self.numbers, [0], [1], [1]), [0])
            return self.graph.cast(none, 1), np.zeros(0, np.int64)
        counts = rows[0] if len(rows) == 1 else self.graph("Concat", *rows, axis=1)
        return counts, np.array(columns, np.int64)

    def _find(self, row: str, terms: Sequence[tuple[list[int], int]]) -> str:
        """The count of each term in the row of characters and borders."""
        order = sorted(range(len(terms)), key=lambda index: len(terms[index][0]))
        sizes = np.array([len(terms[index][0]) for index in order])
        longest = int(sizes.max())
        pool = np.array([code for index in order for code in terms[index][0]], np.int64)
        per_size = np.bincount(sizes, weights=sizes, minlength=longest + 1).astype(np.int64)
        return str(self.graph(
            "TfIdfVectorizer", row, mode="TF", min_gram_length=int(sizes.min()), max_gram_length=longest,
            max_skip_count=0, ngram_counts=np.cumsum(per_size)[:-1], ngram_indexes=np.array(order, np.int64),
            pool_int64s=pool,
        ))  # fmt: skip

    def _codes(self, text: str) -> list[int]:
        return [self.alphabet.number_of.get(ord(character), self.alphabet.other) for character in text]

    def _spell_word(self, term: str) -> list[int] | None:
        """A term as it is written in the row: borders around words, or around the characters of a run."""
        kinds = [int(self.alphabet.kinds[code]) for code in self._codes(term)]
        if term and self.rule.unspaced == "grams" and kinds[0] & UNSPACED:
            starts = [index for index, kind in enumerate(kinds) if not kind & MARK]
            parts = [term[a:b] for a, b in zip(starts, [*starts[1:], len(term)], strict=True)]
            border = self.character_border
        else:
            parts, border = term.split(" "), self.word_border
        if any(not part for part in parts):
            return None
        return [code for part in parts for code in (border, *self._codes(part), border)]

    def _spell_gram(self, term: str) -> list[int] | None:
        """A character n-gram as it is written in the row; its first and last character may be the border."""
        text, border = term.removeprefix(GRAM), BORDERS[self.rule.char_borders]
        if not text:
            return None
        return [
            self.gram_border if character == border else code
            for character, code in zip(text, self._codes(text), strict=True)
        ]

    # Flags of characters.

    def _is(self, kinds: int = 0, codes: Iterable[int] = (), ahead: int = 0) -> str:
        """Whether the character `ahead` positions later has one of these kinds or is in `codes`."""
        flags = self.graph("Gather", self.alphabet.table(kinds, codes), self.numbers)
        return self.graph.shifted(flags, ahead) if ahead else str(flags)

    def _states(self, grams: bool) -> str:
        """The state after each character (n_texts, n_characters); `grams`: runs without spaces are not words."""
        graph = self.graph
        word = LETTER | NUMBER if self.rule.digits else LETTER
        letters = np.where(self.alphabet.kinds & word, IN_WORD, NO_LETTER)
        if grams:
            in_word = letters == IN_WORD
            letters = np.where(in_word & self.alphabet.table(MARK), IS_MARK, letters)
            letters = np.where(in_word & self.alphabet.table(UNSPACED), IN_RUN, letters)
        classes = graph("Gather", letters.astype(np.int64), self.numbers)
        for role, flag in self._roles():
            classes = graph("Where", flag, graph("Add", classes, [4 * role]), classes)
        table = graph("Gather", transitions(), classes)  # (n_texts, n_characters, 13): a map of states for each
        return self._run(table)

    def _run(self, maps: str) -> str:
        """The state after each character; transitions are composed with those 1, 2, 4, … positions before."""
        graph, body = self.graph, self.graph.subgraph()
        length = graph("Gather", graph("Shape", maps), [1])
        at = body.prefix
        body.input(f"{at}number", INT64, [])
        body.input(f"{at}goes_on", BOOL, [])
        before, by = body.input(f"{at}maps", INT64, None), body.input(f"{at}by", INT64, [1])
        late = body("Slice", before, by, [END], [1])
        early = body("Slice", before, [0], body("Neg", by), [1])
        composed = body("GatherElements", late, early, axis=2)
        twice = body("Add", by, by)
        body.output(body("Squeeze", body("Less", twice, length), [0]), f"{at}more", BOOL, [])
        first = body("Slice", before, [0], by, [1])
        body.output(body("Concat", first, composed, axis=1), f"{at}composed", INT64, None)
        body.output(twice, f"{at}twice", INT64, [1])
        done, _ = graph("Loop", np.array(END), np.array(True), maps, [1], outputs=2, body=body)
        return str(graph("Squeeze", graph("Slice", done, [0], [1], [2]), [2]))

    def _roles(self) -> list[tuple[int, str]]:
        """(role in signs, flags of the characters with it); no character has two roles."""
        graph, roles = self.graph, []
        two: list[str] = []
        three: list[str] = []
        if self.rule.emoji:
            pictured = graph.any_of(
                self._is(PICTURE), graph.all_of(self._is(TEXT_PICTURE), self._is(codes=[EMOJI_SELECTOR], ahead=1))
            )
            flag = graph.all_of(self._is(codes=REGIONS), self._is(codes=REGIONS, ahead=1))
            digit = self._is(codes=DIGITS)
            box = graph.all_of(self._is(codes=[EMOJI_SELECTOR], ahead=1), self._is(codes=[KEYCAP], ahead=2))
            two += [flag, graph.all_of(digit, self._is(codes=[KEYCAP], ahead=1))]
            three.append(graph.all_of(digit, box))
            tone, fixed = self._is(codes=TONES), graph.any_of(*two, *three)
            begins = graph.all_of(pictured, graph("Not", fixed))
            roles += [
                (PICTURED, graph.all_of(begins, graph("Not", tone))), (TONE, graph.all_of(tone, pictured)),
                (LATE_TONE, graph.all_of(tone, graph("Not", pictured))), (SELECTOR, self._is(codes=SELECTORS)),
                (TAG, self._is(codes=TAGS)),
                (JOINED, graph.all_of(self._is(codes=[JOINER]), graph.shifted(pictured, 1))),
            ]  # fmt: skip
        if self.rule.symbols:
            short, long = self._symbols()
            two.append(short)
            three.append(long)
        if two:
            roles += [(TWO, graph.any_of(*two)), (THREE, graph.any_of(*three))]
        return roles

    def _symbols(self) -> tuple[str, str]:
        """Where symbols of two and of three characters begin: eyes, perhaps a nose, and a mouth; or a heart."""
        graph = self.graph
        eyes, heart = self._is(codes=EYES), self._is(codes=[ord("<")])
        begins_free = graph.any_of(eyes, self._is(codes=[ord("=")]))
        letter = self._is(LETTER | NUMBER)
        before = graph("Not", graph.shifted(letter, -1))
        starts = []
        for size, middle in ((2, None), (3, self._is(codes=NOSES, ahead=1))):
            last = size - 1
            anywhere = graph.all_of(eyes, self._is(codes=BRACKETS, ahead=last))
            face = graph.all_of(begins_free, self._is(codes=MOUTHS, ahead=last))
            three = graph.all_of(heart, self._is(codes=[ord("3")], ahead=last))
            if middle is not None:
                anywhere, face = graph.all_of(anywhere, middle), graph.all_of(face, middle)
                three = graph.all_of(three, self._is(codes=[ord("/")], ahead=1))
            after = graph("Not", graph.shifted(letter, size))
            starts.append(graph.any_of(anywhere, graph.all_of(graph.any_of(face, three), before, after)))
        return starts[0], starts[1]

    # Rows of characters and borders.

    def _write(self, slots: Sequence[tuple[str, Any]]) -> str:
        """A row for each text: the valid slots of every character without gaps; a slot is (flag, value to write)."""
        graph = self.graph
        zero = graph("Mul", self.numbers, [0])
        written = [graph("Add", zero, value) for _, value in slots]
        values = self._interleaved(written)
        valid = self._interleaved([graph.cast(flag, INT64) for flag, _ in slots])
        column = graph("Sub", graph("CumSum", valid, np.array(1)), [1])
        width = graph("Gather", graph("Shape", values), [1])
        is_valid = graph.cast(valid, BOOL)
        where = graph("Where", is_valid, column, width)  # the others into a last column, which is cut off
        room = graph("Pad", graph("Mul", values, [0]), [0, 0, 0, 1])
        filled = graph("ScatterElements", room, where, graph("Mul", values, valid), axis=1)
        return str(graph("Slice", filled, [0], width, [1]))

    def _interleaved(self, values: Sequence[str]) -> str:
        stacked = self.graph("Concat", *(self.graph("Unsqueeze", value, [2]) for value in values), axis=2)
        return str(self.graph("Reshape", stacked, [0, -1]))

    def _in_state(self, states: str, *which: int) -> str:
        return self.graph.any_of(*(self.graph("Equal", states, [state]) for state in which))

    def _write_words(self) -> str:
        """Words, emoji and symbols between two borders each, and the characters of runs, a border before each run."""
        graph = self.graph
        states = self._states(grams=self.rule.unspaced == "grams")
        word, run = self._in_state(states, WORD), self._in_state(states, RUN)
        begins, ends = self._edges(word)
        kept = self._kept_words(word, begins)
        first, last, sign = self._sign_edges(states)
        run_begins, _ = self._edges(run)
        starts = graph.all_of(run, graph("Not", self._is(MARK)))
        next_starts = graph.shifted(starts, 1)
        stops = graph.all_of(run, graph.any_of(graph("Not", graph.shifted(run, 1)), next_starts))
        border = graph("Where", run, [self.character_border], [self.word_border])
        shown = graph.all_of(sign, graph("Not", self._is(codes=SELECTORS)))
        return self._write([
            (run_begins, [self.run_border]),
            (graph.any_of(graph.all_of(begins, kept), first, starts), border),
            (graph.any_of(graph.all_of(word, kept), shown, run), self.numbers),
            (graph.any_of(graph.all_of(ends, kept), last, stops), border),
        ])  # fmt: skip

    def _edges(self, flags: str) -> tuple[str, str]:
        """Where runs of true values begin and end."""
        graph = self.graph
        before, after = graph("Not", graph.shifted(flags, -1)), graph("Not", graph.shifted(flags, 1))
        return graph.all_of(flags, before), graph.all_of(flags, after)

    def _sign_edges(self, states: str) -> tuple[str, str, str]:
        """Where signs begin, where they end, and where they are."""
        graph = self.graph
        sign = graph("GreaterOrEqual", states, [BEGIN_PICTURE])
        first = self._in_state(states, *BEGINNINGS)
        goes_on = graph.all_of(sign, graph("Not", first))
        last = graph.all_of(sign, graph("Not", graph.shifted(goes_on, 1)))
        return first, last, sign

    def _kept_words(self, word: str, begins: str) -> str:
        """Whether each character is in a word that is long enough and not a stop word."""
        graph = self.graph
        number = graph("CumSum", graph.cast(begins, INT64), np.array(1))
        in_word = graph.cast(word, INT64)
        kept = graph("GreaterOrEqual", self._sum_by(number, in_word), [self.rule.min_length])
        spelt = [self._codes(stop) for stop in self.model.stop_words if stop]
        if not spelt or self.rule.ngrams == (1, 1):  # a stop word is not a term, so it need not be left out
            return str(kept)
        return graph.all_of(kept, graph("Not", self._is_stop_word(number, in_word, spelt)))

    def _sum_by(self, number: str, values: str) -> str:
        """For each character, the sum of values over its word."""
        zeros = self.graph("Pad", self.graph("Mul", values, [0]), [0, 0, 0, 1])
        sums = self.graph("ScatterElements", zeros, number, values, axis=1, reduction="add")
        return str(self.graph("GatherElements", sums, number, axis=1))

    def _is_stop_word(self, number: str, in_word: str, stops: Sequence[Sequence[int]]) -> str:
        """Whether the word at each character is a stop word.

        Words are written as numbers, with the letters of stop words as digits from 1, and the numbers are looked up;
        long words take several numbers.
        """
        graph = self.graph
        letters = sorted({letter for stop in stops for letter in stop})
        digit_of = {letter: digit for digit, letter in enumerate(letters, 1)}
        radix, longest = len(letters) + 1, max(map(len, stops))
        per_block = next(size for size in range(62, 0, -1) if radix**size < 1 << 62)
        table = np.zeros(self.alphabet.size, np.int64)
        table[letters] = np.arange(1, radix)
        digits = graph("Mul", graph("Gather", table, self.numbers), in_word)
        along = graph("CumSum", in_word, np.array(1))
        start = self._sum_by(
            number, graph("Mul", graph("Sub", along, in_word), graph.cast(self._begins(in_word), INT64))
        )
        position = graph("Sub", graph("Sub", along, in_word), start)  # position of the character in its word, from 0
        foreign = graph.any_of(
            graph.all_of(graph.cast(in_word, BOOL), graph("Equal", digits, [0])),
            graph("GreaterOrEqual", position, [longest]),
        )
        clean = graph("Equal", self._sum_by(number, graph.cast(foreign, INT64)), [0])
        matched = None
        prefixes: dict[tuple[int, ...], int] = {(): 0}
        for begin in range(0, longest, per_block):
            powers = np.zeros(longest, np.int64)
            powers[begin : begin + per_block] = [radix**k for k in range(min(per_block, longest - begin))]
            bounded = graph("Min", graph("Max", position, [0]), [longest - 1])
            block = self._sum_by(number, graph("Mul", digits, graph("Gather", powers, bounded)))
            values = {
                tuple(stop[begin : begin + per_block]): sum(
                    digit_of[letter] * radix**k for k, letter in enumerate(stop[begin : begin + per_block])
                )
                for stop in stops
            }
            blocks = {part: index for index, part in enumerate(values)}
            code = self._look_up(block, [(values[part], index) for part, index in blocks.items()])
            heads = {tuple(stop[: begin + per_block]): tuple(stop[:begin]) for stop in stops}
            longer = {head: index for index, head in enumerate(heads)}
            pairs = [
                (prefixes[rest] * (len(blocks) + 1) + blocks[head[begin:]], longer[head])
                for head, rest in heads.items()
            ]
            code = graph("Where", graph("Less", code, [0]), [len(blocks)], code)
            before = graph("Mul", in_word, [0]) if matched is None else matched
            joint = graph("Add", graph("Mul", before, [len(blocks) + 1]), code)
            joint = joint if matched is None else graph("Where", graph("Less", matched, [0]), [-1], joint)
            matched = self._look_up(joint, pairs)
            prefixes = longer
        return graph.all_of(clean, graph("GreaterOrEqual", matched, [0]), graph.cast(in_word, BOOL))

    def _begins(self, in_word: str) -> str:
        return self._edges(self.graph.cast(in_word, BOOL))[0]

    def _look_up(self, values: str, pairs: Sequence[tuple[int, int]]) -> str:
        """The entry of each value in the table, −1 if it has none."""
        keys, numbers = np.array(sorted(pairs), np.int64).T
        return str(self.graph(
            "LabelEncoder", values, domain="ai.onnx.ml", keys_int64s=keys, values_int64s=numbers, default_int64=-1
        ))  # fmt: skip

    def _write_grams(self) -> str:
        """The row from which character n-grams are cut, with a border before and after each chunk or word."""
        graph = self.graph
        if self.rule.char_borders == "spaces":
            cut = self._is(SPACE if self.rule.digits else SPACE | NUMBER)
            inside = graph.all_of(graph("Greater", self.numbers, [0]), graph("Not", cut))
            begins, ends = self._edges(inside)
            shown = inside
        else:
            states = self._states(grams=False)
            word = self._in_state(states, WORD)
            begins, ends = self._edges(word)
            first, last, sign = self._sign_edges(states)
            begins, ends = graph.any_of(begins, first), graph.any_of(ends, last)
            shown = graph.any_of(word, graph.all_of(sign, graph("Not", self._is(codes=SELECTORS))))
        return self._write([(begins, [self.gram_border]), (shown, self.numbers), (ends, [self.gram_border])])
