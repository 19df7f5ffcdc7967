"""MIME messages: what a reader of the mail sees is what is counted; base64 and boundaries are no words."""

import base64
import quopri
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive.base.errors import UnnaiveWarning
from unnaive.text.backend import kernel
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.encoded_words import decode_bytes, decode_words
from unnaive.text.pieces import MESSAGE_PARTS, decode_mime, mime_rows, needs_mime
from unnaive.text.tokens import TokenRule, spans, tokens

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute


def words(text, message="subject-body", **settings):
    return tokens(text, TokenRule(message=message, **settings))


def message(*lines):
    return "\n".join(lines)


def coded(text, charset="utf-8"):
    return base64.b64encode(text.encode(charset)).decode()


PLAIN = message("From: ann@example.org", "Subject: lunch", "", "ham and eggs")

BASE64 = message(
    "Subject: lunch",
    "Content-Type: text/plain; charset=iso-8859-9",
    "Content-Transfer-Encoding: BASE64",
    "",
    coded("şık köfte", "iso-8859-9"),
)
QUOTED = message(
    "Subject: =?iso-8859-1?Q?caf=E9?= =?utf-8?b?" + coded("köşe") + "?=",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "na=C3=AFve soft=",
    "ware=20",
)
MIXED = message(
    "From mbox line",
    "Subject: photos",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="=_Part17"',
    "",
    "This is a multi-part message in MIME format.",
    "--=_Part17",
    'Content-Type: multipart/alternative; boundary="inner"',
    "",
    "--inner",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    coded("see the picture"),
    "--inner",
    "Content-Type: text/html; charset=utf-8",
    "",
    "<p>see the <b>picture</b></p>",
    "--inner--",
    "--=_Part17",
    'Content-Type: image/png; name="sunset.png"',
    "Content-Transfer-Encoding: base64",
    'Content-Disposition: attachment; filename="sunset.png"',
    "",
    coded("x" * 300),
    "--=_Part17--",
    "",
)
HTML = message(
    "Subject: offer",
    "Content-Type: text/html; charset=windows-1252",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "<html><style>p {color: red}</style><p class=3D'big'>caf=E9 &amp; b=",
    "ar</p>",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BASE64, "lunch şık köfte"),
        (QUOTED, "caféköşe naïve software"),
        (MIXED, "photos see the picture sunset png"),
        (HTML, "offer café bar"),
    ],
    ids=["base64", "quoted-printable", "multipart", "html"],
)
def test_what_is_read_of_a_mime_message(text, expected):
    assert needs_mime(text)
    assert words(text) == expected.split()


def test_a_plain_message_needs_no_decoding():
    for text in (PLAIN, "no header, only =?utf-8?q?words?=", "Content-Type is a header\n\nmultipart/mixed", ""):
        assert not needs_mime(text)
        assert decode_mime(text, "body") == text
    plain = "Subject: hi\nMIME-Version: 1.0\nContent-Type: text/plain; charset=us-ascii\n\nbody"
    assert not needs_mime(plain)


def test_the_whole_message_is_without_boundaries():
    found = words(MIXED, "whole")
    assert found[:2] == ["from", "mbox"]
    assert "photos" in found
    assert not {"part17", "boundary", "multipart", "base64"} & set(found)


def test_line_ends_of_the_wire():
    assert words(MIXED.replace("\n", "\r\n")) == words(MIXED)
    assert words(HTML.replace("\n", "\r\n")) == words(HTML)


def test_html_without_a_plain_alternative_and_attached_text():
    mail = EmailMessage()
    mail["Subject"] = "offer"
    mail.set_content("<p>big <i>sale</i></p>", subtype="html")
    mail.add_attachment("secret,numbers\n1,2\n", subtype="csv", filename="list of prices.csv")
    assert words(mail.as_string()) == ["offer", "big", "sale", "list", "of", "prices", "csv"]


def test_a_forwarded_message_is_read_too():
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("deep wörds")
    outer = EmailMessage()
    outer["Subject"] = "outer"
    outer.set_content("see below")
    outer.add_attachment(inner)
    assert words(outer.as_string()) == ["outer", "see", "below", "deep", "wörds"]


@pytest.mark.parametrize(
    "text",
    [
        "Content-Type: multipart/mixed\n\nno boundary at all",
        "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nnever closed",
        "Content-Transfer-Encoding: base64\n\n!!! not base64 é",
        "Content-Type: text/plain; charset=no-such\nContent-Transfer-Encoding: base64\n\n" + coded("words"),
        "Subject: =?no-such?b?xx?= =?utf-8?b?!?=\n\nbody",
        "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\nContent-Type: multipart/mixed; boundary=b\n\n" * 3000,
    ],
)
@pytest.mark.parametrize("part", MESSAGE_PARTS)
def test_broken_messages_are_read_as_far_as_they_go(text, part):
    assert isinstance(words(text, part), list)


def test_words_are_found_where_they_were_written():
    rule = TokenRule(message="subject-body")
    found = {term: QUOTED[start:end] for start, end, term in spans(QUOTED, rule)}
    assert found["naïve"] == "na=C3=AFve"
    assert found["software"] == "soft=\nware"
    places = [(start, end) for start, end, _ in spans(MIXED, rule)]
    assert all(0 <= start <= end <= len(MIXED) for start, end in places)


def test_uu_blocks_inside_a_decoded_part_are_left_out():
    block = "begin 644 x\nM" + "A" * 60 + "\n`\nend\n"
    text = message(
        "Content-Type: text/plain", "Content-Transfer-Encoding: base64", "", coded(f"before\n{block}after\n")
    )
    assert words(text) == ["before", "after"]


# a decoded message reads, by the plain rules, as the original: so the kernel, which has only those, agrees

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60)


@st.composite
def mails(draw):
    body = draw(TEXTS)
    charset = draw(st.sampled_from(["utf-8", "iso-8859-1", "gb2312", "iso-2022-jp"]))
    raw = body.encode(charset, "replace")
    kind = draw(st.sampled_from(["base64", "quoted-printable", "8bit"]))
    coded = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring, "8bit": bytes}[kind](raw)
    type = draw(st.sampled_from(["text/plain", "text/html", "application/pdf", "multipart/mixed; boundary=x"]))
    subject = draw(st.sampled_from(["plain", "=?utf-8?q?caf=C3=A9?=", "=?utf-8?b?!!?="]))
    lines = [f"Subject: {subject}", f"Content-Type: {type}; charset={charset}", f"Content-Transfer-Encoding: {kind}"]
    return "\n".join([*draw(st.permutations(lines)), "", coded.decode("latin-1"), draw(TEXTS)])


@given(mails(), st.sampled_from(MESSAGE_PARTS))
@settings(max_examples=3 * settings().max_examples, deadline=None)
def test_a_decoded_message_reads_as_the_original(text, part):
    rule = TokenRule(message=part, min_length=1)
    expected = tokens(text, rule)
    decoded = decode_mime(text, part)
    assert tokens(decoded, rule) == expected
    assert [term for _, _, term in spans(text, rule)] == expected
    if kernel is not None:
        by_kernel, by_reference = (TextCounter(rule, backend=backend) for backend in (None, "reference"))
        counted = by_kernel.count([decoded], grow=True).toarray()
        assert np.array_equal(counted, by_reference.count([text], grow=True).toarray())
        assert by_kernel.vocabulary.terms == by_reference.vocabulary.terms


@given(st.lists(st.one_of(mails(), TEXTS), max_size=5))
@settings(deadline=None)
def test_rows_to_decode_are_the_same_in_a_buffer(texts):
    assert (
        mime_rows(TextBuffer.of(texts)) == mime_rows(texts) == [i for i, text in enumerate(texts) if needs_mime(text)]
    )


@pytest.mark.parametrize("char", ["e", "é", "я", "😀"])
def test_rows_to_decode_by_hand(char):
    """In strings of every width: what the kernel leaves out needs no decoding."""
    body = f"\n\nbody {char} =?utf-8?q?x?=\nContent-Type: text/html"
    needed = [
        f"Subject: {char}\nCONTENT-TYPE: text/html{body}",
        f"X: {char}\r\nContent-Transfer-Encoding: base64\r\n{body}",
        f"From ann\nSubject: {char} =?utf-8?q?x?={body}",
        "Subject: ==?utf-8?q?x?=\nTo: " + char,
        " rest" + char + "\nContent-Type: multipart/x",
        "Subject: " + 60_000 * char + f"\nContent-Type: text/html{body}",
    ]
    plain = [
        f"Subject: {char}{body}",
        f"\n\nContent-Type: text/html{body}",
        f"a =? b {char}",
        "Content-T",
        "Content-Type: text/plain" + body,
        "",
        "\n",
        "Subject: =",
        f"Subject: {char} =\n?utf-8",
        "Subject: " + 66_000 * char + f"\nContent-Type: text/html{body}",
    ]
    texts = [text for pair in zip(needed, plain, strict=False) for text in pair] + plain[len(needed) :]
    expected = list(range(0, 2 * len(needed), 2))
    assert (
        mime_rows(texts) == mime_rows(TextBuffer.of(texts)) == mime_rows(TextBuffer.of(["x", *texts])[1:]) == expected
    )
    assert [row for row, text in enumerate(texts) if needs_mime(text)] == expected


WORDS = [
    "=?utf-8?q?", "=?cp1252?Q?", "=?utf-8?b?", "=??q?", "?=", "=?", "?", " ", "  ", "\n ", "a", "w6k=", "=C3", "=A9",
    "_", "é", "ж", "\t", "=?utf-8?q?caf=C3?=", "=?utf-8?q?=A9?=", "=?x-odd?b?w6k?=", "=?UTF-8?B?w6k=?=", "\r\n",
    "\udcc3",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_encoded_words_are_those_of_the_standard_library(value):
    try:
        parts = decode_header(value)
        expected = "".join(decode_bytes(part, charset) if isinstance(part, bytes) else part for part, charset in parts)
    except HeaderParseError:
        assert decode_words(value) is None
        return
    assert decode_words(value).split() == expected.split()


@pytest.mark.parametrize("charset", ["punycode", "-idna", " idna", "undefined", "hex", "utf\0", "x" * 9999, "\udcff"])
def test_a_charset_that_is_not_of_texts_is_read_as_western(charset):
    """Python finds the slow codecs of host names by other spellings too."""
    assert decode_words(f"=?{charset}?q?caf=E9?=") == "café"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (
            "Content-Type: multipart/mixed; boundary=x" + "; a=b" * 1_000,
            ("a Content-Type or Content-Disposition field of more than 4,096"),
        ),
        ("".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(60)), "more than 50 deep"),
        ("Content-Type: text/plain; charset=punycode\nContent-Transfer-Encoding: base64", "a charset for host names"),
    ],
)
def test_messages_that_would_take_too_long_are_read_as_they_stand(header, problem):
    with pytest.warns(UnnaiveWarning, match=problem):
        assert "body" in decode_mime(f"From: ann\n{header}\n\nbody\n", "body")


def test_digests_of_many_multiparts_side_by_side_are_not_deep():
    part = "--x\nContent-Type: multipart/mixed; boundary=y\n\n--y\n\nwords\n--y--\n"
    text = "Content-Type: multipart/mixed; boundary=x\n\n" + part * 100 + "--x--\n"
    assert decode_mime(text, "body").split() == ["words"] * 100
