"""Mailboxes as tables of messages: an mbox file, compressed or not, and a Maildir.

Each message is a row: its text is the message as sent, and its header fields are columns, which may have the labels:
--label x-gmail-labels. `folder` is its mailbox. The parts of a message to read are set when terms are counted, or by
the source (io/datafiles.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import ByteSource
from unnaive.io.endings import split_ending
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import Table, TableSample, split_into_batches
from unnaive.io.text_encoding import CODE_PAGES, WESTERN, decode_code_page, open_source, read_lines
from unnaive.text.encoded_words import decode_as
from unnaive.text.messages import header_fields

SHOWN = ("id", "from", "to", "date", "subject")  # columns to write before predictions
SAMPLE_MESSAGES = 50  # messages whose header fields become columns
# transport fields, which are not columns
_TRANSPORT = re.compile(
    r"received|return-path|delivered-to|message-id|mime-version|content-.*|dkim-.*|arc-.*|authentication-results|"
    r"references|in-reply-to|x-received|x-google-.*|x-gm-.*|from|to|date|subject|path|lines|xref|status|x-status|x-uid"
)
_CHARSET = re.compile(
    rb"^content-type:[^\n]*(?:\n[ \t][^\n]*)*?charset=[\"']?([\w.:+-]+)", re.IGNORECASE | re.MULTILINE
)


class MailTable(Table):
    """Messages as rows; a subclass has `_messages`, which yields (folder, raw message)."""

    header = "each message a document"

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        self.source, self.path, self.options = source, source.name, options
        self._start = list(islice(self._rows(options.as_look()), SAMPLE_MESSAGES))
        fields = dict.fromkeys(name for row in self._start for name in row if name not in (*SHOWN, "text", "folder"))
        self.names = (*SHOWN, "folder", *(name for name in fields if not _TRANSPORT.fullmatch(name)), "text")
        self.roles = {"text": "text", "id": "id"}

    def _messages(self, options: ReadOptions) -> Iterator[tuple[str, bytes]]:
        raise NotImplementedError

    def _rows(self, options: ReadOptions) -> Iterator[dict[str, str]]:
        code_page = CODE_PAGES.get(options.language, WESTERN)
        for number, (folder, raw) in enumerate(self._messages(options), start=1):
            text = decode_message(raw, options.encoding, code_page)
            fields = header_fields(text)
            name = fields.get("message-id", "").strip("<> ") or str(number)
            yield {**fields, "id": name, "folder": folder, "text": text}

    def kept_names(self) -> tuple[str, ...]:
        """Sender, date and subject, without the message."""
        return SHOWN

    def accept_name(self, name: str) -> None:
        """Allow a header field to be named as in the message, such as X-Label."""
        if name not in self.names:
            self.names = tuple(name if column == name.lower() else column for column in self.names)

    def sample(self) -> TableSample:
        """The first message: header fields are labels only if the user names them."""
        return {name: [row.get(name.lower(), "") for row in self._start[:1]] for name in self.names}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        rows = self._rows(self.options)
        for batch in split_into_batches(rows, self.options.rows, size=lambda row: len(row["text"])):
            yield [[row.get(name.lower(), "") for row in batch] for name in names]


class MboxTable(MailTable):
    """A file of messages, each after a line that begins with "From ", as Thunderbird and Gmail's Takeout write it."""

    def _messages(self, options: ReadOptions) -> Iterator[tuple[str, bytes]]:
        folder = mailbox_name(self.path)
        with open_source(self.source, options) as stream:
            for number, raw in enumerate(split_mbox(stream)):
                if not number and not raw.strip():
                    raise BadData(
                        f"{self.path} is not an mbox file; expected messages, each after a line such as From ann …"
                    )
                yield folder, raw


class MessageTable(MailTable):
    """One message, as a mail server passes it to a program."""

    def _messages(self, options: ReadOptions) -> Iterator[tuple[str, bytes]]:
        yield mailbox_name(self.path), "".join(line for _, line in read_lines(self.source, options)).encode()


class MessageFolderTable(MailTable):
    """A folder of .eml files, each a message with the file name as id."""

    def _messages(self, options: ReadOptions) -> Iterator[tuple[str, bytes]]:
        for path in self._files():
            raw = path.read_bytes()
            if options.on_read is not None:
                options.on_read(len(raw))
            yield Path(self.path).name, raw

    def _rows(self, options: ReadOptions) -> Iterator[dict[str, str]]:
        for path, row in zip(self._files(), super()._rows(options), strict=True):
            yield {**row, "id": path.name}

    def _files(self) -> list[Path]:
        return sorted(path for path in Path(self.path).iterdir() if _is_message_file(path))


class MaildirTable(MailTable):
    """A folder with cur and new, a file for each message; folders inside it, such as .Archive, are `folder`."""

    def _messages(self, options: ReadOptions) -> Iterator[tuple[str, bytes]]:
        for folder, path in list_maildir(Path(self.path)):
            raw = path.read_bytes()
            if options.on_read is not None:
                options.on_read(len(raw))
            yield folder, raw

    @property
    def folders(self) -> list[str]:
        """The mailboxes in it."""
        return [name for name, _ in maildir_folders(Path(self.path))]


def maildir_folders(root: Path) -> list[tuple[str, Path]]:
    """(name, path) of a Maildir, called INBOX, and of those inside it."""
    inside = sorted(folder for folder in root.iterdir() if folder.name.startswith(".") and is_maildir(folder))
    return [("INBOX", root), *((folder.name.removeprefix("."), folder) for folder in inside)]


def list_maildir(root: Path) -> Iterator[tuple[str, Path]]:
    """(the name of the mailbox, the file) of each message."""
    for name, folder in maildir_folders(root):
        for part in ("cur", "new"):
            for path in sorted((folder / part).iterdir()):
                if path.is_file() and not path.name.startswith("."):
                    yield name, path


def is_maildir(path: str | Path) -> bool:
    """Whether a folder is a Maildir: it has cur and new in it."""
    return Path(path, "cur").is_dir() and Path(path, "new").is_dir()


def is_message_folder(path: str | Path) -> bool:
    """Whether a folder has .eml files in it, and no folders, which would be classes."""
    has_message = False
    for inside in Path(path).iterdir():
        if inside.is_dir() and not inside.name.startswith("."):
            return False
        has_message = has_message or _is_message_file(inside)
    return has_message


def _is_message_file(path: Path) -> bool:
    return path.suffix.lower() == ".eml" and not path.name.startswith(".") and path.is_file()


def is_mailbox(path: str | Path) -> bool:
    """Whether a path is a mailbox: a Maildir, or a file in mbox by its name."""
    return split_ending(path)[0] == ".mbox" or is_maildir(path)


def mailbox_name(path: str) -> str:
    """The name of a mailbox: its file name without endings.

    >>> mailbox_name("mail/billing.mbox.gz")
    'billing'
    """
    return Path(path).name.partition(".mbox")[0] or path


def split_mbox(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The messages of an mbox without their "From " lines; ">From " at the start of a line becomes "From ".

    >>> lines = b"From ann Mon\\nSubject: a\\n\\n>From me\\n\\nFrom bob Tue\\n\\n".splitlines(keepends=True)
    >>> list(split_mbox(lines))
    [b'Subject: a\\n\\nFrom me\\n', b'']
    """
    message: list[bytes] | None = None
    blank = True
    for line in lines:
        if blank and line.startswith(b"From "):
            if message is not None:
                yield _join_message(message)
            message = []
        elif message is None:
            message = [b""] if line.strip() else None  # not an mbox, which the caller reports
            if message is not None:
                yield b""
                return
        else:
            message.append(line[1:] if line.startswith(b">") and line.lstrip(b">").startswith(b"From ") else line)
        blank = not line.strip()
    if message is not None:
        yield _join_message(message)


def _join_message(lines: list[bytes]) -> bytes:
    """The lines of a message without the empty line that an mbox adds."""
    return b"".join(lines[:-1] if lines and not lines[-1].strip() else lines)


def decode_message(raw: bytes, encoding: str | None, code_page: str) -> str:
    """A message as text: UTF-8 if valid, else in the given encoding, its stated charset, or the code page."""
    stated = _CHARSET.search(raw[: 1 << 16])
    for candidate in ("utf-8", encoding, stated[1].decode("ascii", "replace") if stated else None):
        text = None if candidate is None else decode_as(raw, candidate)
        if text is not None:
            return text.replace("\r\n", "\n")
    return decode_code_page(raw, code_page).replace("\r\n", "\n")
