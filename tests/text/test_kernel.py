"""Kernel == reference, token for token and count for count, over random Unicode and at the edges."""

import base64
import random
import signal
import sys
import threading
import time
from dataclasses import replace
from html.entities import html5
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from unnaive.base.errors import BadData
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import read_targets
from unnaive.text import characters, native
from unnaive.text.backend import BACKEND, kernel
from unnaive.text.buffer import LARGEST_TEXT, TextBuffer
from unnaive.text.counting import TextCounter, TextScorer
from unnaive.text.languages import fold_case
from unnaive.text.reference import ReferenceEngine
from unnaive.text.scripts import chunk_pattern
from unnaive.text.term_order import term_order
from unnaive.text.tokens import TokenRule, spans, tokens
from unnaive.text.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")
HAS_STEMMERS = find_spec("Stemmer") is not None  # not every interpreter without a GIL can have PyStemmer

# what tends to go wrong: folding that changes length, marks, other scripts, borders of blocks, structure of messages
FRAGMENTS = [
    *"aAiIzZ09_-.,'\t\r\n\x00\x7f",
    *"ıİğĞşŞçÇöÖüÜßẞéÉςσΣ\u0345\u0301\u0307",
    *"ȺⱥÅKΩ½²Ⅷⅷ٣९中字ﬁꙮ\ufeff\u200d\u00ad\ufe0f\ud800\udfff\ud83d\uffff\U0001f600\U0001d518\U0010ffff\U0001e900",
    "word", "Words", "İSTANBUL", "ILIK", "हिन्दी", "naïve", "x" * 7, "Y" * 8, "z" * 9, "é" * 40, "Q" * 63, "q" * 70,
    "\n\n", "From: ", "Subject: ", "\nSubject: Re", "From ann", " path\nA: b\n", "begin 644 f\n", "\nend\n", "`\n",
    "\nM" + "A" * 60 + "\n", "\nM" + "B" * 61 + "\n", "\nM" + "C" * 62 + "\n", "#ABCD\n",
    "<b>", "</p>", "<script>", "</script>", "&eacute;", "&#305;",
    "\x1e", "\x1f", "\x1ehead\x1f", "\x1ebody\x1f", "\x1ekind\x1fshown\x1f", "\x1fa\u00a0b", "\x1f[2,4)",
    "\x1elost\x1f",
]  # fmt: skip
FIELDS = [None, None, None, {"head": "text", "body": "text", "kind": "category"}, {"head": "own", "ké": "number"}]
MARKUP = [
    *"aZé<>&;#x/!?-_ \n1", "<b>", "</p", "<!--", "-->", "<!-->", "<script", "<STYLE ", "</script", "</Style\t>", "Iİ",
    "<scripty>", "<style_>", "&eacute;", "&Eacute", "&eacutex", "&notit;", "&amp", "&nGt;", "&NotEqualTilde;",
    "&CounterClockwiseContour", "&" + "a" * 32 + ";", "&" + "B" * 45 + ";", "&#305;", "&#x131", "&#X49;x", "&#x", "&#",
    "&#0;", "&#13;", "&#x1;", "&#x0b;", "&#138", "&#x9F;", "&#x81", "&#xD800;", "&#xFDD0;", "&#x1FFFF;", "&#99999999;",
    "&#123456789;", "&#x110000;",
]  # fmt: skip

# words, runs of scripts without spaces, emoji and symbols side by side, and what may come between their parts
SCRIPTS = [
    *" \t.,:;=-'()<>/\\|*#3dDpPoO0aIé\n", "NBA", "Words", "İSTANBUL", "ılık", "한국어", "हिन्दी", "x" * 13,
    *"球星的〇々中㐀𠀀ひがカーｶﾞ゙́​‌", "北京大学", "東京タワー", "ラーメン",
    *"กขเแำ๑ิ่", "ราคา", "ผู้ใหญ่", "ລາວ", *"កខ្ា", "ភាសា", *"မြန်္", "မာ",
    *"😀❤☺★©▶™♂🏽🇹🇷🏴️︎⃣‍󠁧󠁿", "👍🏽", "👩‍💻", "1️⃣", "❤️‍🔥", "©️",
    ":-)", ":(", ";)", "<3", "</3", ":D", "=)", ":/", "http://a", "10:30", ":'(", "&lt;3", "<b>",
]  # fmt: skip

texts_of_fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
texts_of_scripts = st.lists(st.sampled_from(SCRIPTS), max_size=40).map("".join)
any_text = st.text(st.characters(exclude_categories=[]), max_size=60)
texts = st.lists(texts_of_fragments | texts_of_scripts | any_text, min_size=6, max_size=14)
stop_words = st.sampled_from([None, None, "tr", ("words", "aa", "ılık", "x" * 7, "的", "球星", "❤\ufe0f", ":D")])


def make_rule(*, fields, message, **options):
    """A rule of these options; records have no message parts."""
    return TokenRule(fields=fields, message=message if fields is None else None, **options)


rules = st.builds(
    make_rule,
    fields=st.sampled_from(FIELDS),
    language=st.sampled_from(["en", "tr", None]),
    lowercase=st.sampled_from([True, True, False]),
    min_length=st.sampled_from([1, 2, 3, 9]),
    digits=st.booleans(),
    stopwords=stop_words,
    stem=st.sampled_from([None, None, "porter" if HAS_STEMMERS else None]),
    ngrams=st.sampled_from([(1, 1), (1, 1), (1, 2), (2, 2), (2, 3), (1, 8)]),
    strip_html=st.sampled_from([False, False, False, True]),
    message=st.sampled_from([None, None, "whole", "body", "subject-body", "from-subject-body"]),
    unspaced=st.sampled_from(["grams", "grams", "whole"]),
    emoji=st.booleans(),
    symbols=st.booleans(),
)


@pytest.fixture(autouse=True)
def a_thread_for_every_byte(monkeypatch):
    """Even the shortest texts are spread over threads here."""
    monkeypatch.setattr(native, "WORTH_A_THREAD", 1)


def same_rows(left, right):
    return all(np.array_equal(getattr(left, part), getattr(right, part)) for part in ("indptr", "indices", "data"))


def check_tokens(some_texts, rule):
    plain = replace(rule, stopwords=None, stem=None, ngrams=(1, 1))
    kernel = native.NativeEngine(plain, Vocabulary(), threads=1).kernel
    for text in some_texts:
        assert kernel.tokens(text, LARGEST_TEXT) == tokens(text, plain)


def check_counts(some_texts, rule, threads):
    """Growing, fixed, and growing again, over one vocabulary; the same from a vocabulary that is given."""
    ours = TextCounter(rule, threads=threads)
    reference = TextCounter(rule, backend="reference")
    third = max(1, len(some_texts) // 3)
    for part, grow in ((some_texts[:third], True), (some_texts[third : 2 * third], False), (some_texts, True)):
        assert same_rows(ours.count(part, grow), reference.count(part, grow))
        assert ours.vocabulary == reference.vocabulary
        if part is not some_texts:
            early = reference.vocabulary
    ours = TextCounter(rule, early, threads=threads)
    reference = TextCounter(rule, early, backend="reference")
    assert same_rows(ours.count(some_texts[::-1], True), reference.count(some_texts[::-1], True))
    assert ours.vocabulary == reference.vocabulary
    fixed = TextCounter(rule, reference.vocabulary, threads=threads)
    assert same_rows(fixed.count(some_texts), reference.count(some_texts))
    utf8 = [text.encode("utf-8", "replace").decode() for text in some_texts]
    assert same_rows(fixed.count(TextBuffer.of(utf8)), reference.count(utf8))


def check_sums(some_texts, rule, threads):
    """Sums by class in one pass, with terms sorted, are those of the reference's rows."""
    targets = read_targets([len(text) % 3 for text in some_texts], len(some_texts))
    reference = TextCounter(rule, backend="reference")
    expected = NamedCounts.of(reference.count(some_texts, True), targets, reference.vocabulary, in_order=True)
    found = NamedCounts.of_texts(TextCounter(rule, threads=threads), some_texts, targets)
    assert found.vocabulary.terms == expected.vocabulary.terms
    assert found.counts == expected.counts


def property_test(cases):
    """`cases` texts at the least, each with a rule, on one, two and three threads in turn."""
    seen = 0

    @settings(
        max_examples=cases // 6,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(texts, rules, st.sampled_from([1, 2, 3]))
    def run(some_texts, rule, threads):
        nonlocal seen
        seen += len(some_texts)
        check_tokens(some_texts, rule)
        check_counts(some_texts, rule, threads)
        check_sums(some_texts, rule, threads)

    run()
    return seen


def test_kernel_equals_reference():
    assert property_test(300) >= 300


def drawn_rule(draw):
    """Any rule; unlike those above, all options are drawn evenly."""
    return make_rule(
        fields=draw.choice(FIELDS),
        language=draw.choice(["en", "tr", None]),
        lowercase=draw.random() < 0.7,
        min_length=draw.choice([1, 2, 2, 3, 9, 14]),
        digits=draw.random() < 0.5,
        stopwords=draw.choice(
            [
                None,
                ("的", "球", "ราคา", "😀", ":)", "nba"),
                "tr",
                ("words", "aa", "ılık", "x" * 7, "İstanbul", "y" * 13),
            ]
        ),
        stem=draw.choice([None, None, "porter" if HAS_STEMMERS else None]),
        ngrams=draw.choice([(1, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (1, 8)]),
        strip_html=draw.random() < 0.2,
        message=draw.choice([None, None, "whole", "body", "subject-body", "from-subject-body"]),
        unspaced=draw.choice(["grams", "grams", "whole"]),
        emoji=draw.random() < 0.7,
        symbols=draw.random() < 0.3,
    )


def drawn_texts(draw, size):
    """Texts of fragments: all of them, or those of ASCII, or of one alphabet, so that every way to read is taken."""
    kinds = [
        FRAGMENTS,
        [part for part in FRAGMENTS if part.isascii()],
        [part for part in FRAGMENTS if max(part) < "\u0100"],
        [part for part in FRAGMENTS if max(part) < "\u0800"],
        [*"IİıiIĞğ .", "ILIK", "İSTANBUL"],
        [*"हिन्दी中字 ", "\u0301", "९"],
        MARKUP,
        SCRIPTS,
        [part for part in SCRIPTS if max(part) < "\U00010000"],
    ]
    return ["".join(draw.choices(draw.choice(kinds), k=draw.choice([0, 3, 12, 40, 150]))) for _ in range(size)]


@pytest.fixture
def either_loops():
    """A function that picks the loops for any processor or those for this one; afterwards they are its own again."""
    yield native.kernel.use_wide
    native.kernel.use_wide(True)


def check_drawn(cases, seed, use_wide):
    """`cases` texts, ten with each rule, by the loops for any processor and by those for this one."""
    draw = random.Random(seed)
    for _ in range(cases // 10):
        use_wide(draw.random() < 0.5)
        rule, some_texts, threads = drawn_rule(draw), drawn_texts(draw, 10), draw.choice([1, 2, 3])
        check_tokens(some_texts, rule)
        check_counts(some_texts, rule, threads)
        check_sums(some_texts, rule, threads)


@pytest.mark.slow
def test_kernel_equals_reference_with_drawn_rules(either_loops):
    check_drawn(500, seed=0, use_wide=either_loops)


@pytest.mark.parametrize("message", [None, "subject-body"])
@pytest.mark.slow
def test_markup_is_read_alike(message):
    draw = random.Random(2)
    rule = TokenRule(strip_html=True, message=message, min_length=1)
    check_tokens(["".join(draw.choices(MARKUP, k=draw.choice([2, 5, 20]))) for _ in range(3_000)], rule)
    check_tokens([f"&{name} a&{name}b" for name in html5], rule)
    check_tokens([f"x&#{code};y&#x{code:x}" for code in [*range(0x3000), *range(0xD7F0, 0x10010)]], rule)


@pytest.mark.slow
def test_kernel_equals_reference_in_a_hundred_thousand_cases(either_loops):
    assert property_test(3_000) >= 3_000
    check_drawn(100_000, seed=1, use_wide=either_loops)


@pytest.mark.parametrize("rule", [TokenRule(min_length=1), TokenRule("tr", digits=False, min_length=1)])
@pytest.mark.parametrize("separator", [" ", pytest.param("a", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_code_point_is_read_alike(rule, separator):
    text = separator.join(map(chr, range(sys.maxunicode + 1)))
    kernel = native.NativeEngine(rule, Vocabulary(), threads=1).kernel
    assert kernel.tokens(text, LARGEST_TEXT) == tokens(text, rule)


@pytest.mark.parametrize("first", ["", "é", "ğ", "字", "\U0001d518"])
@pytest.mark.slow
def test_words_at_the_borders_of_blocks_and_pieces(first):
    """Words of every length at every place in a block of 64 bytes, and texts that are read in several pieces."""
    words = ["Abcdefghijklmnopq"[:size] for size in (1, 2, 3, 8, 9, 12, 13, 17)]
    blocks = [" " * offset + word + end for offset in range(44, 66) for word in words for end in " é"]
    pieces = ["".join(f"Word{n % 99}{first} " for n in range(9_000)), f"{'x y ' * 9_000}{'Long' * 9_000} after {first}"]
    for rule in (TokenRule(), TokenRule("tr", min_length=1, digits=False)):
        check_tokens([first + text for text in (*blocks, *pieces)], rule)
        check_counts([first + text for text in pieces], rule, 2)


@pytest.mark.parametrize("first", ["", "é", "字"])
@pytest.mark.slow
def test_no_sign_is_lost_between_pieces(first):
    """Texts are read in pieces of 32768 characters; emoji, symbols and runs stay whole wherever that is."""
    signs = [":-)", "1\ufe0f\u20e3", "👩\u200d💻", "球星", "<3", "กี่คน", "a:)", "©\ufe0f"]
    filled = first + " " * 32_760 + "x, " * 2
    some_texts = [filled + "y" * k + f"{sign}{end}{sign}" for k in range(4) for sign in signs for end in ("", " ", "b")]
    for rule in (TokenRule(symbols=True), TokenRule(min_length=1)):
        check_tokens(some_texts, rule)
    long = [first + part * 20_000 for part in ("球星", "กี่คน", "😀", "x:)")]
    check_counts(long, TokenRule(symbols=True, ngrams=(1, 2)), 2)


@pytest.mark.parametrize("borders", ["spaces", "words"])
@pytest.mark.parametrize("analyzer", ["char", "both"])
@pytest.mark.slow
def test_character_grams_are_those_of_the_reference(analyzer, borders):
    """Growing, fixed and growing again, all scripts, messages and markup, on one to three threads."""
    draw = random.Random(3)
    for number in range(12):
        some_texts = ["".join(draw.choices(draw.choice([SCRIPTS, FRAGMENTS, MARKUP]), k=30)) for _ in range(6)]
        sizes = draw.choice([(1, 1), (1, 3), (2, 5), (3, 3), (4, 8)])
        rule = replace(drawn_rule(draw), analyzer=analyzer, char_ngrams=sizes, char_borders=borders)
        check_counts([*some_texts, "", some_texts[0]], rule, 1 + number % 3)


@pytest.mark.parametrize("borders", ["spaces", "words"])
@pytest.mark.parametrize("analyzer", ["char", "both"])
def test_spans_of_character_grams_lie_in_the_text(analyzer, borders):
    """Borders are n-grams of one character; they have empty spans, at the ends of the text too."""
    draw = random.Random(8)
    for _ in range(60):
        sizes = draw.choice([(1, 1), (1, 3), (2, 5)])
        drawn = replace(drawn_rule(draw), analyzer=analyzer, char_ngrams=sizes, char_borders=borders, fields=None)
        mail = replace(drawn, message="subject-body", strip_html=draw.random() < 0.5)
        for rule in (drawn, mail, replace(drawn, strip_html=True)):
            for text in [*MIME, "<b>a</b>", "a", "".join(draw.choices(draw.choice([FRAGMENTS, MARKUP]), k=12))]:
                found = spans(text, rule)
                assert [term for _, _, term in found] == tokens(text, rule)
                assert all(0 <= start <= end <= len(text) for start, end, _ in found)


@pytest.mark.slow
def test_every_character_parts_chunks_or_stays_in_them():
    """Kernel and reference agree on each of the 1,114,112 characters."""
    some_texts = [
        "".join(f"a{chr(code)}b " for code in range(start, start + 4096)) for start in range(0, 0x110000, 4096)
    ]
    for rule in (TokenRule(language="tr"), TokenRule(lowercase=False, digits=False)):
        engine = native.NativeEngine(rule, Vocabulary(), threads=1, chunks=True)
        pattern = chunk_pattern(rule.digits)
        for text in some_texts:
            folded_text = fold_case(text, rule.language) if rule.lowercase else text
            assert engine.kernel.tokens(text, LARGEST_TEXT) == pattern.findall(folded_text)


def test_long_chunks_and_many_batches():
    """A chunk may be longer than any block that is read at a time, and a text have more chunks than a batch."""
    rule = TokenRule(analyzer="char", char_ngrams=(2, 4))
    some_texts = ["x" * 5000 + "é" * 5000 + "(!) y", "ab, " * 1000, "球" * 9000 + "\u3000" + "星" * 300]
    check_counts(some_texts, rule, 2)
    assert tokens("a (b", rule) == ["# a", "#a ", "# a ", "# (", "#(b", "#b ", "# (b", "#(b ", "# (b "]


def test_grams_of_units_that_were_forgotten(monkeypatch):
    """Units are remembered from call to call; with room for few the counts are the same."""
    draw = random.Random(5)
    monkeypatch.setattr(characters, "REMEMBERED", 10)
    for analyzer in ("char", "both"):
        some_texts = ["".join(draw.choices(SCRIPTS, k=60)) for _ in range(9)]
        check_counts(some_texts, TokenRule(analyzer=analyzer), 2)


def test_terms_that_no_text_has_keep_their_ids():
    """A given vocabulary may hold anything; only words are found."""
    odd = ["", "\x00", "ab\x00", "\x01bcdefgh", "\x02", " ", "Ab", "y" * 12 + "\x00"]
    terms = [*odd, "ab", "a b", "y" * 12, "y" * 13, "é" * 6]
    for rule in (TokenRule(), TokenRule(ngrams=(1, 2)), TokenRule(stopwords=("ab", "", "\x00"))):
        vocabulary = Vocabulary(terms)
        text = f"ab a b \x00 \x02 Ab {'y' * 12} {'y' * 13} ab\x00 {'É' * 6} \x01bcdefgh"
        ours, reference = (TextCounter(rule, vocabulary, backend=backend) for backend in ("native", "reference"))
        for grow in (False, True):
            assert same_rows(ours.count([text], grow), reference.count([text], grow))
        assert ours.vocabulary == reference.vocabulary


def test_bytes_that_are_not_utf8_separate_words():
    blob = b"ab\xffcd \xc3\xc3\xa9e\xe2\x82f \xed\xa0\x80gh \xf4\x90\x80\x80ij kl\xc3"
    texts = TextBuffer(np.frombuffer(blob, dtype=np.uint8), np.array([0, len(blob)]))
    rule = TokenRule(min_length=1)
    counter = TextCounter(rule)
    counter.count(texts, grow=True)
    assert counter.vocabulary.terms == ["ab", "cd", "ée", "f", "gh", "ij", "kl"] == tokens(texts[0], rule)


def test_offsets_outside_the_buffer_are_refused():
    for offsets in ([0, 5], [-1, 2], [2, 1]):
        with pytest.raises(BadData, match="offsets"):
            TextCounter().count(TextBuffer(np.zeros(4, dtype=np.uint8), np.array(offsets)))


@pytest.mark.slow
def test_one_token_of_50_mb():
    for letter, size in (("x", 50_000_000), ("ğ", 10_000_000)):
        counter = TextCounter()
        row = counter.count([f"Before {letter * size} after", letter.upper() * size], grow=True)
        assert row.toarray().tolist() == [[1, 1, 1], [0, 1, 0]]
        assert counter.vocabulary.terms == ["before", letter * size, "after"]


@pytest.mark.slow
def test_one_document_of_36_mb():
    text = "".join(f"word{n % 5000:08d} " for n in range(2_800_000))
    counts = TextCounter(TokenRule(ngrams=(1, 2))).count([text], grow=True)
    assert counts.shape == (1, 10_000)
    assert counts.sum() == 2_800_000 * 2 - 1


def test_a_million_empty_documents():
    start = time.process_time()
    counts = TextCounter().count([""] * 1_000_000 + ["one word"], grow=True)
    assert counts.shape == (1_000_001, 2)
    assert counts.nnz == 2
    assert time.process_time() - start < 5  # 0.1 s of processor time


def test_texts_of_4_gib_are_refused(monkeypatch):
    assert LARGEST_TEXT < 2**32
    monkeypatch.setattr(native, "LARGEST_TEXT", 1000)
    counter = TextCounter()
    assert counter.count(["x" * 1000], grow=True).shape == (1, 1)
    for texts in (["fine", "x" * 1001], ["fine", "ğ" * 501], TextBuffer.of(["fine", "x" * 1001])):
        with pytest.raises(BadData, match=r"text 1 has 1001 bytes|text 1 has 1002 bytes"):
            counter.count(texts)


@pytest.mark.slow
def test_many_words_of_all_lengths_are_kept_apart():
    """In the sanitized build, whose hash has 64 values, nearly all of them collide."""
    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("abcdefgh"), size)) for size in (4, 8, 9, 16, 30) for _ in range(6_000)})
    counter = TextCounter(threads=3)
    counts = counter.count([" ".join(words)] * 3, grow=True)
    assert counter.vocabulary.terms == words
    assert (counts.data == 1).all()


def test_ids_do_not_depend_on_threads():
    texts = [" ".join(f"w{n}" for n in row) for row in np.random.default_rng(1).zipf(1.4, size=(500, 60))]
    for rule in (TokenRule(), TokenRule(ngrams=(1, 3)), TokenRule(stem="porter", ngrams=(1, 2))):
        results = []
        for threads in (1, 2, 3, 7):
            counter = TextCounter(rule, threads=threads)
            results.append((counter.count(texts, grow=True), counter.vocabulary))
        assert all(same_rows(results[0][0], counts) for counts, _ in results)
        assert all(results[0][1] == vocabulary for _, vocabulary in results)


def test_the_gil_is_released():
    def count_turns():
        counter, turns = TextCounter(threads=1), 0
        worker = threading.Thread(target=counter.count, args=([text], True))
        worker.start()
        while worker.is_alive():
            time.sleep(0.001)
            turns += 1
        return turns

    text = "several different words " * 4_000_000
    # 96 MB take some 140 ms, and with the GIL held there would be one turn or two; a busy machine may miss some
    assert any(count_turns() >= 5 for _ in range(20))


@pytest.mark.slow
def test_the_size_can_be_asked_for_while_a_table_grows():
    texts = [" ".join(f"w{n * 97 + k}" for k in range(97)) for n in range(5_000)]
    for rule in (TokenRule(), TokenRule(ngrams=(1, 2))):
        counter = TextCounter(rule, threads=1)
        worker = threading.Thread(target=counter.count, args=(texts, True))
        worker.start()
        sizes = []
        while worker.is_alive():
            sizes.append((len(counter._engine), counter._engine.kernel.surfaces()))
        assert {size for size, _ in sizes} <= {0, len(counter._engine)}  # before or after, never in the middle


def test_one_counter_serves_many_threads():
    texts = [f"word{n} and word{n % 7} again" for n in range(300)]
    for rule in (TokenRule(), TokenRule(stem="porter"), TokenRule(ngrams=(1, 2))):
        counter = TextCounter(rule, threads=2)
        expected = counter.count(texts, grow=True)
        answers = []
        workers = [threading.Thread(target=lambda: answers.append(counter.count(texts))) for _ in range(8)]  # noqa: B023
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(answers) == 8
        assert all(same_rows(expected, answer) for answer in answers)


def test_ctrl_c_stops_the_kernel():
    def interrupt(*_):
        raise KeyboardInterrupt

    texts = ["several different words " * 50_000] * 20_000  # 24 GB of one str, some 34 s of processor time
    previous = signal.signal(signal.SIGALRM, interrupt)
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            TextCounter(threads=2).count(texts, grow=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert time.process_time() - start < 8  # one that did not listen would read to the end first


def linear_model(rng, n_classes, n_terms, sparse, scale):
    """Weights in quarters, so that exact ties are common."""
    arcs = np.round(rng.normal(size=(n_classes, n_terms)) * 4) / 4 * scale
    arcs *= rng.random(arcs.shape) < 0.5
    return {
        "arcs": csr_array(arcs) if sparse else arcs,
        "class_background": np.round(rng.normal(size=n_classes)),
        "term_background": rng.normal(size=n_terms),
        "bias": np.round(rng.normal(size=n_classes)),
    }


@pytest.mark.parametrize("n_classes", [1, 2, 7, 20, 33, 60])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.slow
def test_decisions_are_those_of_the_float64_scores(n_classes, fast, monkeypatch):
    monkeypatch.setattr(native, "MEMORY_SHARE", 16 if fast else 1 << 60)
    monkeypatch.setattr(native, "FAST_SHARE", 0)
    rng = np.random.default_rng(n_classes)
    texts = [" ".join(f"w{rng.zipf(1.3) % 300}" for _ in range(length)) for length in (0, 1, 2, 5, 40, 400) * 5]
    for round_ in range(6):
        rule = TokenRule(ngrams=[(1, 1), (1, 2)][round_ % 2], stem=[None, "porter"][round_ // 2 % 2])
        counter = TextCounter(rule)
        counter.count(texts[:12], grow=True)
        vocabulary = counter.vocabulary
        model = linear_model(rng, n_classes, len(vocabulary), round_ % 3 == 0, [1, 1e-3, 1e4][round_ % 3])
        model["binary"] = bool(round_ % 5 == 0)
        ours = TextScorer(rule, vocabulary, **model, threads=1 + round_ % 3)
        reference = TextScorer(rule, vocabulary, **model, backend="reference")
        scores = ours.scores(texts)
        # the same sums in the same order; numpy may add a dense product up in another one
        assert np.allclose(scores, reference.scores(texts), rtol=1e-12, atol=1e-12 * np.abs(scores).max())
        assert np.array_equal(ours.best(texts), scores.argmax(axis=1))
        assert_scores_are_exact_or_clear(ours, texts, clear=[0.0, 3.0, 20.0][round_ % 3])


def assert_scores_are_exact_or_clear(scorer, texts, clear):
    """Each row is that of the exact scores, or 0 for a class that leads in them by more than `clear`, and −∞."""
    scores, known = scorer.scores_and_known(texts)
    quick, quick_known = scorer.scores_and_known(texts, clear)
    assert np.array_equal(quick_known, known)
    is_clear = (quick == 0) & (np.isneginf(quick).sum(axis=1, keepdims=True) == scores.shape[1] - 1)
    exact = (quick == scores).all(axis=1)
    for row in np.flatnonzero(~exact):
        best = int(scores[row].argmax())
        others = np.delete(scores[row], best)
        assert is_clear[row].tolist() == [place == best for place in range(scores.shape[1])]
        assert scores[row, best] - others.max() > clear
    return int((~exact).sum())


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.slow
def test_most_texts_with_a_clear_lead_are_not_scored_exactly(ngrams, binary, threads):
    drawn = np.random.default_rng(3)
    terms = [f"w{n}" for n in range(200)]
    texts = [" ".join(drawn.choice(terms, length)) for length in drawn.integers(1, 600, size=300)]
    rule = TokenRule(ngrams=ngrams)
    counter = TextCounter(rule)
    counter.count(texts, grow=True)
    arcs = drawn.normal(size=(6, len(counter.vocabulary)))
    scorer = TextScorer(rule, counter.vocabulary, arcs, binary=binary, threads=threads)
    leads = np.diff(np.sort(scorer.scores(texts), axis=1)[:, -2:], axis=1)[:, 0]
    for clear in (0.0, 2.0, 8.0):
        # 600 weights of at most 5, added in float32: 2 · 600 · (256 + 4) · 5 · 2⁻²⁴ < 0.1 is in doubt
        assert assert_scores_are_exact_or_clear(scorer, texts, clear) >= (leads > clear + 0.1).sum() > 0
    assert assert_scores_are_exact_or_clear(scorer, texts, np.inf) == 0


def test_weights_that_are_no_floats_are_summed_in_double():
    """A weight of 1e39 is infinite in float32, and ten of 3.3e38, each in a batch of its own, would never reach it."""
    arcs = np.array([[1e39, 0.0, 0.0], [0.0, 3.3e38, 0.0]])
    scorer = TextScorer(TokenRule(min_length=1), Vocabulary(["a", "b", "c"]), arcs)
    text = "a " + ("b " + "c " * 300) * 10
    assert scorer.best([text]).tolist() == [1]
    assert assert_scores_are_exact_or_clear(scorer, [text], 0.0) == 0


def test_close_decisions_are_made_in_double():
    """A lead of 1e-9 is nothing in float and something in double."""
    terms = [f"w{n}" for n in range(50)]
    arcs = np.full((3, 50), -7.123456789)
    arcs[1] += 1e-9
    scorer = TextScorer(TokenRule(), Vocabulary(terms), arcs, bias=[0.0, 0.0, 1e-8])
    assert scorer.best([" ".join(terms), "w1", "w1 w2", ""]).tolist() == [1, 2, 2, 2]


def test_infinite_and_missing_weights():
    arcs = np.array([[-np.inf, 0.0, np.nan], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.0]])
    scorer = TextScorer(TokenRule(min_length=1), Vocabulary(["a", "b", "c"]), arcs)
    assert scorer.best(["a", "b", "c", "a b", ""]).tolist() == [1, 2, 0, 1, 0]


@pytest.mark.slow
def test_many_classes_cost_what_their_arcs_cost():
    """5,000 classes × 300,000 terms: dense weights alone would be 12 GB."""
    rng = np.random.default_rng(0)
    arcs = random_array((5_000, 300_000), density=2e-3, format="csr", rng=rng)
    scorer = TextScorer(TokenRule(), Vocabulary(f"w{n}" for n in range(300_000)), arcs, bias=-rng.random(5_000))
    texts = [" ".join(f"w{n}" for n in rng.integers(300_000, size=100)) for _ in range(50)]
    engine = ReferenceEngine(TokenRule(), Vocabulary(f"w{n}" for n in range(300_000)))
    data, indices, indptr = engine.count(texts, grow=False)
    x = csr_array((data.astype(float), indices, indptr), shape=(50, 300_000))
    assert np.array_equal(scorer.best(texts), scorer.scores(texts).argmax(axis=1))
    assert np.allclose(scorer.scores(texts), (x @ arcs.T).toarray() + scorer._scorer.linear.bias)


MIME = [
    "Subject: =?utf-8?q?caf=C3=A9?=\nContent-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ=\n",
    "From: a\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>so &amp; so</p>\n--x--\n",
    "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: application/pdf; name=a.pdf\n\nJVBERi0=\n--x--\n",
    "Subject: plain\n\nnothing to decode",
    "no header at all",
    "Content-Type:\u00a0text/html\n\n<p>is not read as markup",
    "Content-Type: text/plain\nSubject: =?utf-8?q?a?=\n\na <b title=\nbegin 644 x\nM" + "X" * 60 + "\n \nend\n> c <i",
    "Content-Transfer-Encoding: base64\n\n"
    + base64.b64encode(b"<a\nbegin 644 x\n#ABCD\n`\nend\nhref=y>z <!-- a\n begin 644 x\n-->").decode(),
]


@pytest.mark.parametrize("message", [None, "whole", "body", "subject-body"])
@pytest.mark.parametrize("html", [False, True])
@pytest.mark.parametrize("container", [list, TextBuffer.of])
def test_mime_messages_are_decoded_as_the_reference_does(message, html, container):
    rule = TokenRule(message=message, strip_html=html)
    native, reference = TextCounter(rule, backend="native"), TextCounter(rule, backend="reference")
    one, other = (counter.count(container(MIME), grow=True) for counter in (native, reference))
    assert native.vocabulary.terms == reference.vocabulary.terms
    assert (one != other).nnz == 0
    assert ("agvsbg8gd29ybgq" in native.vocabulary.terms) == (message is None)


def test_scores_of_few_texts_and_of_many_agree():
    """The best class is looked for in float rows once there is text enough to make them for."""
    drawn = np.random.default_rng(5)
    terms = [f"w{n}" for n in range(3_000)]
    scorer = TextScorer(TokenRule(), Vocabulary(terms), drawn.normal(size=(7, len(terms))), threads=2)
    texts = [" ".join(words) for words in drawn.choice(terms, (2_000, 40))]
    one_by_one = [scorer.best([text])[0] for text in texts[:5]]  # 5 × 200 bytes are fewer than terms
    assert np.array_equal(scorer.best(texts)[:5], one_by_one)
    assert np.array_equal(scorer.best(texts), scorer.scores(texts).argmax(axis=1))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("ascending", [True, False])
def test_scores_are_those_of_a_sparse_product(index, ascending):
    """Of 9,000 terms, one block of 4,096 after another is laid out if columns ascend."""
    drawn = np.random.default_rng(1)
    n = 9_000
    arcs = random_array((7, n), density=0.3, format="csr", rng=drawn)
    if not ascending:
        arcs = csr_array((arcs.data[::-1], arcs.indices[::-1], (arcs.nnz - arcs.indptr)[::-1]), shape=arcs.shape)
    arcs.indices, arcs.indptr = arcs.indices.astype(index), arcs.indptr.astype(index)
    vocabulary = Vocabulary([f"w{number}" for number in drawn.permutation(n)])
    model = {"class_background": drawn.normal(size=7), "term_background": drawn.normal(size=n)}
    texts = [" ".join(vocabulary.terms[term] for term in drawn.integers(n, size=40)) for _ in range(200)]
    ours, reference = (
        TextScorer(TokenRule(), vocabulary, arcs, **model, backend=backend) for backend in ("native", "reference")
    )
    assert np.array_equal(ours.scores(texts), reference.scores(texts))
    assert np.array_equal(ours.best(texts), ours.scores(texts).argmax(axis=1))


@pytest.mark.parametrize(
    ("terms", "ends"),
    [([0, 40], [0, 2]), ([0, -1], [0, 2]), ([0, 1], [0, 3]), ([0, 1], [1, 2]), ([0, 1], [0, 2, 1, 2])],
)
def test_arcs_that_do_not_fit_are_refused(terms, ends):
    engine = native.NativeEngine(TokenRule(), Vocabulary([f"w{n}" for n in range(40)]), 1).kernel
    of_classes = np.zeros(len(ends) - 1)
    with pytest.raises(ValueError, match="do not fit each other"):
        kernel.Scorer(
            engine, np.ones(2), np.array(terms, np.int64), np.array(ends, np.int64), of_classes, np.zeros(40),
            of_classes, binary=False, fast=True, columns=np.zeros(0, np.int64),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("blob", "ends", "found"),
    [
        ("aéb".encode(), [0, 1, 3, 4], (-1, -1)),
        ("aéb".encode(), [0, 2, 4], (0, -1)),  # within a character
        ("aé".encode(), [0, 1, 2], (1, -1)),  # the last one ends within it
        (b"ab\xffc", [0, 1, 2, 3, 4], (2, -1)),
        (b"abcab", [0, 2, 3, 5], (-1, 2)),
        (b"", [0, 0], (-1, -1)),
    ],
)
def test_terms_that_are_looked_at(blob, ends, found):
    assert kernel.check_terms(np.frombuffer(blob, np.uint8), np.array(ends, np.int64)) == found


@pytest.mark.parametrize("seed", range(6))
def test_terms_in_order_as_numpy_and_python_have_them(seed):
    drawn = random.Random(seed)
    letters = ["a", "b", "ab", "abcdefgh", "é", "字", "\U0001f600", "\x00", "z"]
    terms = list({"".join(drawn.choices(letters, k=drawn.randrange(8))) for _ in range(300)})
    vocabulary = Vocabulary(terms)
    found = kernel.term_order(*vocabulary.to_arrays())
    assert [terms[place] for place in found] == sorted(terms, key=str.encode)
    assert np.array_equal(found, term_order(*vocabulary.to_arrays()))
    ordered = Vocabulary(sorted(terms, key=str.encode))
    assert kernel.term_order(*ordered.to_arrays()) is None
    assert vocabulary.in_order() == ordered
    chosen = drawn.sample(range(len(terms)), 50)
    assert vocabulary.take(chosen).terms == [terms[place] for place in chosen]


@pytest.mark.parametrize("terms", [[], ["a"], ["", "a"], ["a", "a\x00"], ["a" * 8, "a" * 9, "a" * 16]])
def test_few_terms_are_in_order(terms):
    assert kernel.term_order(*Vocabulary(terms).to_arrays()) is None


def test_terms_that_are_not_there_cannot_be_taken():
    for places in ([2], [-1]):
        with pytest.raises(ValueError, match="no term of this number"):
            kernel.take_terms(*Vocabulary(["a", "b"]).to_arrays(), np.array(places, np.int64))


def test_the_order_of_slots_changes_no_count():
    drawn = random.Random(3)
    words = ["".join(drawn.choices("abcdef", k=drawn.randrange(2, 20))) for _ in range(2_000)]
    vocabulary = Vocabulary(sorted(set(words)))
    texts = [" ".join(drawn.choices(words, k=60)) for _ in range(100)]
    rule = TokenRule(stopwords=tuple(words[:20]))  # which are terms too, and which no text reaches
    shuffled = vocabulary.take(drawn.sample(range(len(vocabulary)), len(vocabulary)))
    for terms in (
        vocabulary,
        shuffled,
    ):  # by the alphabet, or in an order that is taken for that of how often they come
        wanted = ReferenceEngine(rule, terms).count(texts, False)
        assert all(map(np.array_equal, native.NativeEngine(rule, terms, 2).count(texts, False), wanted))


@pytest.mark.parametrize("columns", [[0], [0, 0], [0, 2], [-1, 0], [0, 1, 0]])
def test_the_columns_of_a_scorer_have_every_place_once(columns):
    engine = native.NativeEngine(TokenRule(), Vocabulary(["aa", "bb"]), 1).kernel
    none, zeros = np.zeros(0, np.int64), np.zeros(2)
    arrays = {"arcs": np.zeros(4), "arc_columns": none, "ends": none, "class_background": zeros}
    arrays |= {"term_background": zeros, "bias": zeros, "columns": np.array(columns, np.int64)}
    with pytest.raises(ValueError, match="every place once"):
        kernel.Scorer(engine, **arrays, binary=False, fast=True)


def test_known_terms_come_with_the_scores():
    for backend in ("native", "reference"):
        for binary in (False, True):
            scorer = TextScorer(
                TokenRule(), Vocabulary(["ball", "vote"]), np.eye(2), binary=binary, threads=1, backend=backend
            )
            scores, known = scorer.scores_and_known(["ball ball vote new", "", "new"])
            assert known.tolist() == [3, 0, 0]
            assert scores.tolist() == [[1.0 if binary else 2.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
            assert np.array_equal(known, scorer.known_terms(["ball ball vote new", "", "new"]))


@pytest.mark.parametrize("analyzer", ["char", "both"])
def test_scores_of_character_grams_are_those_of_the_reference(analyzer):
    rule = TokenRule(analyzer=analyzer, char_ngrams=(2, 3))
    counter = TextCounter(rule, backend="reference")
    counter.count(["good ball", "vote"], grow=True)
    weights = np.random.default_rng(0).normal(size=(3, len(counter.vocabulary)))
    scorers = [TextScorer(rule, counter.vocabulary, weights, backend=backend) for backend in ("native", "reference")]
    found, expected = (scorer.scores_and_known(["a good vote", "", "bal"]) for scorer in scorers)
    assert expected[1].tolist() == found[1].tolist() != [0, 0, 0]
    assert np.array_equal(found[0], expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_large_blocks_that_were_used_before_are_as_good_as_fresh_ones(ngrams):
    # rows, words and pairs of whole collections take several blocks of pages, which go from one call to the next; what
    # is counted in small pieces takes none
    drawn = np.random.default_rng(5)
    words = [f"w{number:x}" for number in range(120_000)]
    rule = TokenRule(ngrams=ngrams)
    for first, size in ((0, 120_000), (60_000, 60_000)):
        chosen = first + drawn.integers(size, size=(2_500, 250))
        texts = [" ".join([words[number] for number in row]) for row in chosen.tolist()]
        pieces = TextCounter(rule, threads=1)
        wanted = [pieces.count(texts[start : start + 100], grow=True) for start in range(0, len(texts), 100)]
        for threads in (1, 2):
            counter = TextCounter(rule, threads=threads)
            found = counter.count(texts, grow=True)
            assert counter.vocabulary == pieces.vocabulary
            for rows in (found, counter.count(texts)):
                assert np.array_equal(rows.indices, np.concatenate([part.indices for part in wanted]))
                assert np.array_equal(rows.data, np.concatenate([part.data for part in wanted]))
