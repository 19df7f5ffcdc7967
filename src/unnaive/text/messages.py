"""Detect e-mail messages by their content; read their header fields and the parts for readers (mail.py).

Users need not declare that files are mail: a message begins with header fields, at least two of them common ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unnaive.text.encoded_words import decode_words
from unnaive.text.mail import decode_mime, message_parts, needs_mime

PARTS = "subject-body"  # the parts of messages that are read by default
MESSAGE_SHARE = 0.9  # share of the texts that must be messages for a collection to be mail
LOOKED_AT = 1 << 16  # characters of a text that are searched for its header
# header fields that other texts hardly ever begin with
_USUAL = frozenset(
    ("from", "to", "subject", "date", "message-id", "received", "mime-version", "content-type", "return-path", "cc",
     "delivered-to", "reply-to", "newsgroups", "references", "in-reply-to", "content-transfer-encoding", "path",
     "organization", "lines", "sender", "x-mailer", "nntp-posting-host", "list-id")
)  # fmt: skip
# possessive, so that a field that does not end costs no more than reading it
_FIELD = re.compile(r"([!-9;-~]++):[ \t]*+([^\r\n]*+(?:\r?\n[ \t][^\r\n]*+)*)(?:\r?\n|\Z)")
_FROM_LINE = re.compile(r"From [^\r\n]*\r?\n")


def header_fields(text: str) -> dict[str, str]:
    """The header of a message: field names in lower case, with the first value of each, unfolded and decoded.

    >>> header_fields("From: Ann\\nSubject: =?utf-8?q?caf=C3=A9?=\\n\\nFrom: the body")
    {'from': 'Ann', 'subject': 'café'}
    >>> header_fields("Note: this is a text. It has no header.")
    {'note': 'this is a text. It has no header.'}
    """
    start = text[:LOOKED_AT]
    from_line = _FROM_LINE.match(start)
    at = from_line.end() if from_line else 0
    fields: dict[str, str] = {}
    while field := _FIELD.match(start, at):
        value = " ".join(field[2].split())
        fields.setdefault(field[1].lower(), (decode_words(value) or value) if "=?" in value else value)
        at = field.end()
    return fields


def is_message(text: str) -> bool:
    """Whether a text is an e-mail or news message: it begins with fields, at least two common ones, and an empty line.

    >>> is_message("From: ann@example.org\\nSubject: Lost card\\n\\nPlease block it."), is_message("Re: your card")
    (True, False)
    """
    start = text[:LOOKED_AT]
    from_line = _FROM_LINE.match(start)
    at, usual = from_line.end() if from_line else 0, set()
    while field := _FIELD.match(start, at):
        if field[1].lower() in _USUAL:
            usual.add(field[1].lower())
        at = field.end()
    return len(usual) > 1 and start[at : at + 1] in ("", "\n", "\r")


def are_messages(texts: Sequence[str]) -> bool:
    """Whether at least 90 % of the non-empty texts are messages; False if all are empty."""
    filled = [text for text in texts if text.strip()]
    return bool(filled) and sum(map(is_message, filled)) >= MESSAGE_SHARE * len(filled)


def read_message(text: str, parts: str = PARTS) -> str:
    """The wanted parts of a message, decoded, with the names of attachments; other texts are unchanged.

    >>> read_message("From: ann@example.org\\nSubject: Lost card\\n\\nPlease block it.")
    'Lost card\\nPlease block it.'
    """
    if not is_message(text):
        return text
    if needs_mime(text):
        return decode_mime(text, parts).strip()
    return "".join(text[start:end].lstrip(" \t") for start, end in message_parts(text, parts)).strip()
