"""A newcomer's script, tests/messy/newcomer.txt: mistakes of the first hour, each with the sentence that answers it.

What works all the same says in a note what was done; what does not leaves nothing behind and exits with 2.
"""

import os
import shutil
from pathlib import Path

import pytest

from unnaive.apps.cli.main import exit_code

FILES = Path(__file__).parents[1] / "messy" / "files"
ROWS = "".join(f"goal number {n},sport\nlaw number {n},politics\n" for n in range(12))
MAIL = "From: ann@example.org\nTo: bank@example.org\nSubject: {0} {1}\n\nabout my {0}\n"
INBOX = (
    "From ann Mon\nFrom: ann@example.org\nSubject: lost card\nX-Queue: cards\n\nblock it\n\n"
    "From bob Tue\nFrom: bob@example.org\nSubject: rates\nX-Queue: loans\n\nwhat does it cost\n"
)
WRITTEN = {
    "tickets.csv": "text,label\n" + ROWS,
    "no-header.csv": ROWS,
    "open-quote.csv": 'text,label\ngood,a\n"never closed,b\n',
    "ragged.csv": "text,label\ngood, really,a\nbad,b\n",
    "wide.csv": ("text,label\n" + ROWS).encode("utf-16-le"),
    "latin.csv": "text,label\ncafé,food\nlaw,politics\n".encode("latin-1"),
    "empty.csv": "",
    "header.csv": "text,label\n",
    "one-class.csv": "text,label\ngoal,sport\nball,sport\n",
    "unlabelled.csv": "text,label\ngoal,\nlaw,\n",
    "twice.csv": "text,text,label\nred,goal,sport\nblue,law,politics\n",
    "numbers.csv": "when,amount\n2024-01-02,5\n2024-01-03,7\n",
    "tags.csv": "text,tags\n" + "a phone,new;phone\nan old one,phone\nnew,new\n" * 3,
    "cricket.csv": "text,label\na wicket,cricket\n",
    "other.csv": "text,label\nsomething else entirely,sport\n",
    "book.csv": b"PK\x03\x04rest of a workbook",
    "paper.csv": b"%PDF-1.7 rest",
    "flat/1.txt": "goal",
    "flat/2.txt": "law",
    "inbox.mbox": INBOX,
    **{f"mails/{queue}/{n}.eml": MAIL.format(queue, n) for queue in ("cards", "loans") for n in range(2)},
}
MESSY = (
    "stray-quote.csv", "sep-line.csv", "joined.csv", "missing-labels.csv", "spellings.csv", "label-prefix.csv",
    "single-class.csv",
)  # fmt: skip


def read_script():
    """(the words of a command, how its answer begins) for each mistake of the script."""
    blocks = (FILES.parent / "newcomer.txt").read_text(encoding="utf-8").split("\n$ unnaive ")[1:]
    return [(command.split(), answer) for command, answer in (block.strip().split("\n") for block in blocks)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of a newcomer, and three models."""
    here = tmp_path_factory.mktemp("newcomer")
    for name, content in WRITTEN.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in MESSY:
        shutil.copy(FILES / name, here / name)
    before = Path.cwd()
    os.chdir(here)
    for words in ("-m multinomial -o m.model", "-m nbsvm -o svm.model", "-m multinomial --frozen -o frozen.model"):
        assert exit_code(["train", "tickets.csv", "-q", *words.split()]) == 0
    yield here
    os.chdir(before)


def everything(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_there_are_forty_mistakes_and_more():
    assert len(read_script()) == 50


@pytest.mark.parametrize(("words", "answer"), read_script(), ids=lambda one: one if isinstance(one, str) else one[1])
def test_each_mistake_is_answered_with_its_sentence(folder, capsys, words, answer):
    before = everything(folder)
    code = exit_code(words)
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert any(line.startswith(answer) for line in err.splitlines()), err
    assert code == (2 if answer.startswith("unnaive: ") else 0)
    (folder / "noted.model").unlink(missing_ok=True)
    assert everything(folder) == before


def test_the_line_of_excel_is_no_header(folder, capsys):
    assert exit_code(["train", "sep-line.csv", "-m", "multinomial", "-o", "noted.model"]) == 0
    assert capsys.readouterr().out.startswith(
        "read sep-line.csv (csv, sep=; in line 1, header in line 2): text from Text, labels from Category, 2 rows\n"
    )
    (folder / "noted.model").unlink()
