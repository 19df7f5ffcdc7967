"""The specification of tokens, by hand."""

import json
import re
import sys
import types
from importlib.machinery import ModuleSpec

import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadModel, MissingExtra, UnknownName, UnnaiveError
from unnaive.text.counting import TextCounter
from unnaive.text.languages import SNOWBALL, stop_list, stop_lists
from unnaive.text.pieces import message_parts
from unnaive.text.segmenters import segments
from unnaive.text.tokens import TokenRule, spans, tokens

PLAIN = TokenRule()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The R2D2 unit, version 3.11!", ["the", "r2d2", "unit", "version", "11"]),
        ("snake_case and _underlines_", ["snake", "case", "and", "underlines"]),
        ("don't", ["don"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("cafe\u0301 café", ["cafe\u0301", "café"]),
        ("ΟΔΟΣ οδος οδοσ", ["οδοσ", "οδοσ", "οδοσ"]),
        ("İstanbul IŞIK", ["istanbul", "işik"]),
        ("Straße STRAẞE", ["straße", "straße"]),
        ("good 😀😀 day❤️", ["good", "😀", "😀", "day", "❤"]),
        ("nul\x00separates lone\ud800surrogates", ["nul", "separates", "lone", "surrogates"]),
        ("½ cup, x² Ⅷ", ["cup", "x²"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text, expected):
    assert tokens(text, PLAIN) == expected


def test_turkish_folds_its_two_letters_i():
    assert tokens("IŞIK İYİ ılık", TokenRule(language="tr")) == ["ışık", "iyi", "ılık"]


def test_case_stays_when_asked():
    assert tokens("Is IT", TokenRule(lowercase=False)) == ["Is", "IT"]


def test_without_digits_they_separate():
    assert tokens("abc123def 4x ９ab", TokenRule(digits=False)) == ["abc", "def", "ab"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NBA球星2024", "nba 球 球星 星 2024"),
        ("我爱北京。", "我 我爱 爱 爱北 北 北京 京"),
        ("東京タワー", "東 東京 京 京タ タ タワ ワ ワー ー"),
        ("かがく か\u3099", "か かが が がく く か\u3099"),
        ("ราคา", "ร รา า าค ค คา า"),
        ("กี่คน ๑๒๓", "กี่ กี่ค ค คน น ๑๒๓"),
        ("ລາວ", "ລ ລາ າ າວ ວ"),
        ("ភាសា", "ភា ភាសា សា"),
        ("မြန်မာ", "မြ မြန် န် န်မာ မာ"),
        ("二〇二四年", "二 二〇 〇 〇二 二 二四 四 四年 年"),
        ("한국어 문서", "한국어 문서"),
        ("a球b", "球"),
        ("👍🏽👍 🇹🇷🇩🇪🇫", "👍🏽 👍 🇹🇷 🇩🇪"),
        ("❤ ❤️ ❤︎", "❤ ❤ ❤"),
        ("👩\u200d👩\u200d👧 👩\u200d\u200d x", "👩\u200d👩\u200d👧 👩"),
        ("no1️⃣ 1⃣", "no 1⃣ 1⃣"),
        ("© 2024 ©️ Foo™", "2024 © foo"),
        ("🏴\U000e0067\U000e0062\U000e007f!", "🏴\U000e0067\U000e0062\U000e007f"),
        ("good:) :-( <3", "good"),
    ],
)
def test_scripts_without_spaces_and_emoji(text, expected):
    assert " ".join(tokens(text, TokenRule())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("good:) bad :-(( ;) :'(", "good :) bad :-( ;) :'("),
        ("I <3 it </3 x<3 <30", "it <3 </3 30"),
        (":D :p =) =( a=(b) :/ :| :* :dog", ":d :p =) =( :/ :| :* dog"),
        ("http://ab at 10:30 re: (no)", "http ab at 10 30 re no"),
    ],
)
def test_symbols_are_terms_when_asked(text, expected):
    found = tokens(text, TokenRule(symbols=True))
    assert sorted(found) == sorted(expected.split())


def test_runs_may_stay_whole_and_emoji_be_left_out():
    assert tokens("NBA球星2024 我爱 😀", TokenRule(unspaced="whole", emoji=False)) == ["nba球星2024", "我爱"]


def test_signs_and_runs_are_never_too_short_or_stemmed_but_may_be_stop_words():
    rule = TokenRule(min_length=4, stem="porter", stopwords=("的", "❤️", "games"), symbols=True)
    assert tokens("cats games playing 我的 ❤️ 😀 :)", rule) == ["cat", "plai", "我", "我的", "😀", ":)"]


def test_ngrams_take_emoji_for_words_and_stop_at_runs():
    assert tokens("so good 😀", TokenRule(ngrams=(2, 2))) == ["so good", "good 😀"]
    assert tokens("go 北京 now", TokenRule(ngrams=(1, 2))) == ["go", "北", "北京", "京", "now"]
    assert tokens("to be 北京 or not", TokenRule(ngrams=(2, 2))) == ["to be", "北", "北京", "京", "or not"]


def test_spans_of_runs_and_emoji():
    text = "NBA球星 I ❤️ it:-)"
    found = [(text[start:end], term) for start, end, term in spans(text, TokenRule(symbols=True))]
    runs = [("球", "球"), ("球星", "球星"), ("星", "星")]
    assert found == [("NBA", "nba"), *runs, ("❤️", "❤"), ("it", "it"), (":-)", ":-)")]
    page = "<p>球&#26143; 👍"
    assert [page[start:end] for start, end, _ in spans(page, TokenRule(strip_html=True))] == [
        "球",
        "球&#26143;",
        "&#26143;",
        "👍",
    ]


def test_a_rule_of_an_older_file_reads_as_it_did():
    rule = TokenRule.from_dict({"language": "en"})
    assert (rule.unspaced, rule.emoji) == ("whole", False)


@pytest.fixture
def dictionary(monkeypatch):
    """A segmenter that knows two words, in the place of the package."""
    module = types.ModuleType("jieba")
    module.__spec__ = ModuleSpec("jieba", None)
    module.lcut = lambda run: [part for part in re.split("(北京|爱)", run) if part]
    monkeypatch.setitem(sys.modules, "jieba", module)
    segments.cache_clear()
    yield
    segments.cache_clear()


@pytest.mark.usefixtures("dictionary")
def test_a_segmenter_finds_words_in_chinese_only():
    rule = TokenRule(segmenter="jieba", stopwords=("我",), ngrams=(1, 2))
    assert tokens("我爱北京 ราค", rule) == ["爱", "北京", "爱 北京", "ร", "รา", "า", "าค", "ค"]
    assert TokenRule.from_dict(rule.to_dict()) == rule
    counter = TextCounter(rule)
    counter.count(["我爱北京"], grow=True)
    assert counter.vocabulary.terms == ["爱", "北京", "爱 北京"]


@pytest.mark.slow
def test_the_dictionary_of_jieba(capfd):
    pytest.importorskip("jieba", reason="jieba is not installed: pip install '.[chinese]'")
    rule = TokenRule(segmenter="jieba")
    # the sentence of its own documentation, which it cuts so
    assert tokens("我来到北京清华大学 and left", rule) == ["我", "来到", "北京", "清华大学", "and", "left"]
    texts = ["足球比赛非常精彩", "球队进球了", "议会通过了法律", "政府举行选举"]
    classifier = TextClassifier("multinomial", segmenter="jieba").fit(texts, ["体育", "体育", "政治", "政治"])
    assert classifier.predict(["精彩的进球", "新的法律"]).tolist() == ["体育", "政治"]
    assert capfd.readouterr().err == ""  # no lines about the dictionary


def test_a_segmenter_that_is_not_installed_says_how(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    monkeypatch.setattr("unnaive.text.segmenters.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'unnaive\[chinese\]'"):
        TokenRule(segmenter="jieba")
    with pytest.raises(UnknownName, match="jieba"):
        TokenRule(segmenter="scissors")


def test_minimum_length_is_in_characters():
    assert tokens("ab éé ééé", TokenRule(min_length=3)) == ["ééé"]


def test_order_is_length_then_stop_words_then_stems_then_ngrams():
    rule = TokenRule(stopwords=("the", "on"), stem="porter", ngrams=(1, 2))
    assert tokens("The cats sat on a mats", rule) == ["cat", "sat", "cat sat", "mat", "sat mat"]


def test_stop_words_are_folded_as_the_text_is():
    assert tokens("The THE x-ray", TokenRule(stopwords=("THE",))) == ["ray"]
    assert tokens("Ilık su", TokenRule(language="tr", stopwords=("ILIK",))) == ["su"]


def test_stems_of_a_language():
    assert tokens("kitaplar kitaplarda", TokenRule(language="tr", stem="snowball")) == ["kitap", "kitap"]


def test_longer_ngrams_end_with_each_word_in_turn():
    assert tokens("aa bb cc", TokenRule(ngrams=(2, 3))) == ["aa bb", "bb cc", "aa bb cc"]


def test_markup_falls_away_and_entities_are_read():
    page = "<title>Caf&eacute;</title><script>var hidden = 1;</script><!-- gone --><p class='no'>AT&amp;T a<b</p>"
    assert tokens(page, TokenRule(strip_html=True)) == ["café", "at"]
    assert tokens("open <script> never closed", TokenRule(strip_html=True)) == ["open"]
    assert tokens("3 < 4 and 5 > 2 words", TokenRule(strip_html=True, digits=False)) == ["and", "words"]


MESSAGE = """From: Ann <ann@example.org>
Subject: Re: spare
\tparts
Organization: Parts Inc

Hello there
begin 644 picture.gif
M1DE28#R9"
MAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
#ABCD
`
end
Bye now
"""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("body", "hello there m1de28 r9 bye now"),
        ("subject-body", "re spare parts hello there m1de28 r9 bye now"),
        ("from-subject-body", "ann ann example org re spare parts hello there m1de28 r9 bye now"),
    ],
)
def test_parts_of_a_message_without_its_uu_block(message, expected):
    assert " ".join(tokens(MESSAGE, TokenRule(message=message))) == expected


def test_a_whole_message_keeps_its_header_but_not_its_uu_block():
    read = tokens(MESSAGE, TokenRule(message="whole"))
    assert "organization" in read
    assert "picture" not in read


def test_a_text_without_header_is_all_body():
    for text in ("plain words here", "no header\n\nbut: a colon", ""):
        assert "".join(text[a:b] for a, b in message_parts(text, "body")) == text


def test_header_without_body_and_windows_line_ends():
    assert tokens("Subject: only this", TokenRule(message="subject-body")) == ["only", "this"]
    assert tokens("Subject: hi there\r\nX: y\r\n\r\nthe body\r\n", TokenRule(message="body")) == ["the", "body"]
    for first in ("From me Mon\n", " uunet!cut off path\n", ""):
        assert tokens(f"{first}X: yy\n\nbody", TokenRule(message="body")) == ["body"]


def test_spans_point_into_the_original():
    rule = TokenRule(strip_html=True, message="body", ngrams=(1, 2), stopwords=("the",))
    text = "X: y\n\n<p>The na&iuml;ve <b>Bayes</b>"
    found = [(text[start:end], term) for start, end, term in spans(text, rule)]
    assert found == [("na&iuml;ve", "naïve"), ("Bayes", "bayes"), ("na&iuml;ve <b>Bayes", "naïve bayes")]


def test_spans_agree_with_tokens():
    for rule in (PLAIN, TokenRule(message="whole", stem="porter"), TokenRule(strip_html=True)):
        assert [term for _, _, term in spans(MESSAGE, rule)] == tokens(MESSAGE, rule)


def test_the_rule_travels_through_json():
    rule = TokenRule("tr", stopwords=("bir", "ve"), stem="snowball", ngrams=(1, 3), message="body")
    assert TokenRule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ([1], "not an object of settings"),
        ({"colour": 1}, "does not know"),
        ({"ngrams": [2, 1]}, "ngrams"),
        ({"ngrams": [1, 10**9]}, "ngrams"),
        ({"ngrams": "12"}, "ngrams"),
        ({"min_length": True}, "min_length"),
        ({"min_length": -1}, "min_length"),
        ({"lowercase": 1}, "lowercase"),
        ({"language": "../x"}, "language"),
        ({"stopwords": "../../etc/passwd"}, "stop list"),
        ({"stopwords": [1]}, "stopwords"),
        ({"stopwords": 3}, "stopwords"),
        ({"stem": "magic"}, "stemmer"),
        ({"stem": []}, "stem of TokenRule came as"),
        ({"message": ["body"]}, "message of TokenRule came as"),
        ({"unspaced": "cut"}, "grams, whole"),
        ({"segmenter": 3}, "segmenter"),
        ({"emoji": None}, "emoji"),
        ({"symbols": 1}, "symbols"),
    ],
)
def test_a_rule_from_a_file_is_not_trusted(values, part):
    with pytest.raises(BadModel, match=part) as caught:
        TokenRule.from_dict(values)
    assert "\n" not in str(caught.value)


def test_wrong_settings_name_the_choices():
    with pytest.raises(UnknownName, match="porter, snowball"):
        TokenRule(stem="stem")
    with pytest.raises(UnknownName, match="smart"):
        TokenRule(stopwords="englisch")
    with pytest.raises(UnknownName, match="no Snowball stemmer called 'sw'"):
        TokenRule(language="sw", stem="snowball")
    with pytest.raises(UnnaiveError, match="ISO 639"):
        TokenRule(language="english")


def test_shipped_stop_lists():
    assert {"en", "tr", "de", "fr", "es", "it", "pt", "nl", "ru", "hi", "smart"} <= set(stop_lists())
    assert len(stop_list("smart")) == 570
    assert all(stop_list(name) for name in stop_lists())
    assert "ve" in stop_list("tr")


def test_every_named_stemmer_exists():
    import Stemmer

    assert set(SNOWBALL.values()) <= set(Stemmer.algorithms())
