"""The collections other than Reuters: files of an archive to a Corpus, for each of a collection's views."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from unnaive.base.errors import BadData, choose
from unnaive.data.corpus import Corpus, Labels
from unnaive.papers.collections.archives import ArchiveMember

NEWSGROUPS = r"20news-bydate-(train|test)/([^/]+)/(\d+)$"
MESSAGES = r"((?:alt|comp|misc|rec|sci|soc|talk)[.][^/]+)/(\d+)$"
OHSUMED = r"(training|test)/(C\d\d)/([^/]+)$"
WEBKB = r"webkb-(train|test)-stemmed[.]txt$"
PAGES = r"(course|department|faculty|other|project|staff|student)/(cornell|misc|texas|washington|wisconsin)/([^/]+)$"
FOLDERS = r"(?:.*/)?([^/]+)/(?!(?i:readme))([^/.][^/]*)$"  # the innermost folder is the class
BANKING = r"(train|test)[.]csv$"
HABER = r"(ekonomi|magazin|saglik|siyasi|spor)/([^/]+)[.]txt$"

PARTS = {"training": "train", "train": "train", "test": "test"}


def split_message(message: str) -> tuple[str, str]:
    """A Usenet message cut at its first empty line.

    >>> split_message("From: ann\\nSubject: hi\\n\\nHello.\\n")
    ('From: ann\\nSubject: hi', 'Hello.\\n')
    """
    headers, _, body = message.partition("\n\n")
    return headers, body


def get_header(headers: str, name: str) -> str:
    """The value of a header, its folded lines joined; empty if it is missing.

    >>> get_header("From: ann\\nSubject: a long\\n one\\nLines: 3", "Subject")
    'a long one'
    """
    match = re.search(rf"^{name}:[ \t]*(.*(?:\n[ \t].*)*)", headers, re.MULTILINE | re.IGNORECASE)
    return re.sub(r"\n[ \t]+", " ", match[1]).strip() if match else ""


def keep_from_subject_body(message: str) -> str:
    """The message as in the 18,828-document version: From and Subject lines, an empty line, the body."""
    headers, body = split_message(message)
    return f"From: {get_header(headers, 'From')}\nSubject: {get_header(headers, 'Subject')}\n\n{body}"


def keep_subject_body(message: str) -> str:
    """The subject's words above the body."""
    headers, body = split_message(message)
    return f"{get_header(headers, 'Subject')}\n{body}"


MESSAGE_VIEWS: dict[str, Callable[[str], str]] = {
    "by-date": lambda message: message,
    "from-subject-body": keep_from_subject_body,
    "subject-body": keep_subject_body,
    "body": lambda message: split_message(message)[1],
}


def read_newsgroups(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """20 Newsgroups by date; files are (part, group, number), ids `group/number`."""
    shown = MESSAGE_VIEWS[choose(list(MESSAGE_VIEWS), view, "view of 20newsgroups")]
    return Corpus(
        [shown(normalize_newlines(file.content.decode("latin-1"))) for file in files],
        [(file.parts[1],) for file in files],
        [file.parts[0] for file in files],
        [f"{file.parts[1]}/{file.parts[2]}" for file in files],
        "20newsgroups",
    )


def read_messages(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """20 Newsgroups without a split; files are (group, number). A message in several groups is a document of each."""
    shown = MESSAGE_VIEWS[choose(list(MESSAGE_VIEWS), view, "view of 20 Newsgroups")]
    return _read_files(files, "20newsgroups", shown)


FOUR_CLASSES = ("course", "faculty", "project", "student")


def read_pages(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """WebKB as published: files are (class, university, address); the HTTP header above the page is left out.

    "four" has the pages of FOUR_CLASSES, "all" those of all seven classes.
    """
    kept = [file for file in files if view == "all" or file.parts[0] in FOUR_CLASSES]
    return _read_files(kept, "webkb", lambda page: split_message(page)[1])


def read_folders(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """Documents in a folder for each class, at any depth; files are (class, name)."""
    return _read_files(files, "folders", lambda text: text)


def _read_files(files: Sequence[ArchiveMember], name: str, shown: Callable[[str], str]) -> Corpus:
    """A document for each file; its class is the first of its parts, and there is no split."""
    return Corpus(
        [shown(normalize_newlines(file.content.decode("latin-1"))) for file in files],
        [(file.parts[0],) for file in files],
        None,
        ["/".join(file.parts) for file in files],
        name,
    )


def normalize_newlines(text: str) -> str:
    """The text with every line ended by a newline alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_ohsumed(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """Ohsumed; files are (part, category, document), and a document may be in several categories."""
    texts: dict[tuple[str, str], str] = {}
    labels: dict[tuple[str, str], Labels] = {}
    for (part, category, document), content in files:
        key = (PARTS[part], document)
        texts[key] = normalize_newlines(content.decode("latin-1"))
        labels[key] = (*labels.get(key, ()), category)
    keys = sorted(texts)
    return Corpus(
        [texts[key] for key in keys],
        [labels[key] for key in keys],
        [part for part, _ in keys],
        [document for _, document in keys],
        "ohsumed",
    )


def read_webkb(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """WebKB-4, stemmed and stopped; a line is a label, a tab and the text; ids are `part-line`."""
    rows = [
        (file.parts[0], number, line)
        for file in files
        for number, line in enumerate(normalize_newlines(file.content.decode("latin-1")).splitlines(), start=1)
    ]
    for part, number, line in rows:
        if "\t" not in line:
            raise BadData(f"line {number} of webkb-{part}-stemmed.txt has no tab; expected label, tab, text")
    return Corpus(
        [line.partition("\t")[2] for _, _, line in rows],
        [(line.partition("\t")[0],) for _, _, line in rows],
        [part for part, _, _ in rows],
        [f"{part}-{number}" for part, number, _ in rows],
        "webkb4",
    )


def read_haber(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """1150haber, Turkish news in Windows cp1254; files are (class, number); it has no split."""
    return Corpus(
        [normalize_newlines(file.content.decode("cp1254", errors="replace")) for file in files],
        [(file.parts[0],) for file in files],
        None,
        [f"{file.parts[0]}/{file.parts[1]}" for file in files],
        "1150haber",
    )


def read_banking(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """Banking77; each part is a CSV file with the columns text and category; ids are `part-row`."""
    rows = []
    for file in files:
        table = csv.DictReader(io.StringIO(file.content.decode("utf-8"), newline=""))
        if table.fieldnames != ["text", "category"]:
            raise BadData(
                f"{file.parts[0]}.csv of banking77 has the columns {table.fieldnames}; expected text and category"
            )
        rows += [(file.parts[0], number, row) for number, row in enumerate(table, start=1)]
    return Corpus(
        [row["text"].strip() for _, _, row in rows],
        [(row["category"],) for _, _, row in rows],
        [part for part, _, _ in rows],
        [f"{part}-{number}" for part, number, _ in rows],
        "banking77",
    )
