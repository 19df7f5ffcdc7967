"""Mail is read as mail: folders of messages, mbox, packed mbox and Maildir give the same documents everywhere."""

import csv
import gzip
import json
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.io.datafiles import DataFile
from unnaive.io.tables.mail_tables import decode_message
from unnaive.text.messages import are_messages, is_message, read_message

pytestmark = pytest.mark.slow  # `make quick` leaves these to `make test`

SUBJECTS = {
    "billing": ["Invoice twice", "Refund please", "Wrong invoice", "Card charged"],
    "access": ["Password lost", "Login fails", "Account locked", "Reset password"],
}


def make_message(queue, number, subject):
    """A message as mail programs send it: plain, as HTML beside plain text, or with an attachment in base64."""
    message = EmailMessage()
    message["Received"] = "from mx.example.org by mail.example.net with ESMTPS id 7bit-org-content"
    message["From"], message["To"] = f"{queue}{number}@example.org", "help@example.net"
    message["Subject"], message["Message-ID"] = f"{subject} – é", f"<{queue}-{number}@example.org>"
    message["X-Label"] = queue
    message.set_content(f"Dear team,\nFrom now on: {subject.lower()}.\n")
    if number == 1:
        message.add_alternative("<p>only in <b>markup</b></p>", subtype="html")
    if number == 2:
        message.add_attachment(b"secretbytes" * 50, maintype="application", subtype="pdf", filename="contract.pdf")
    return message


@pytest.fixture
def mail(tmp_path):
    """The same messages in every form."""
    for queue, subjects in SUBJECTS.items():
        (tmp_path / "eml" / queue).mkdir(parents=True)
        (tmp_path / "boxes").mkdir(exist_ok=True)
        box = mailbox.mbox(tmp_path / "boxes" / f"{queue}.mbox")
        (tmp_path / "maildirs").mkdir(exist_ok=True)
        root = mailbox.Maildir(tmp_path / "maildirs" / queue)
        for number, subject in enumerate(subjects):
            message = make_message(queue, number, subject)
            (tmp_path / "eml" / queue / f"{number}.eml").write_bytes(message.as_bytes())
            box.add(message)
            root.add(message)
        box.close()
        packed = (tmp_path / "boxes" / f"{queue}.mbox").read_bytes()
        (tmp_path / "packed").mkdir(exist_ok=True)
        (tmp_path / "packed" / f"{queue}.mbox.gz").write_bytes(gzip.compress(packed))
    return tmp_path


def documents(path, **settings):
    with pytest.warns(UnnaiveWarning, match="the texts are e-mail messages; of each, subject and body are read"):
        corpus = DataFile(str(path), message="subject-body", **settings).corpus()
    return sorted(zip(corpus.labels, [text.strip() for text in corpus.texts], strict=True))


def test_every_form_gives_the_same_documents(mail):
    one = documents(mail / "eml")
    assert len(one) == 8
    for form in ("boxes", "packed", "maildirs"):
        assert documents(mail / form) == one, form


def test_what_people_read_of_a_message():
    plain, html, attached = (read_message(make_message("billing", n, "Refund").as_string()) for n in range(3))
    assert plain == "Refund – é\nDear team,\nFrom now on: refund."
    assert html.split() == plain.split()
    assert "contract.pdf" in attached
    assert "secretbytes" not in attached
    assert read_message("a text: with a colon") == "a text: with a colon"


def test_messages_are_known_by_what_is_in_them():
    assert is_message("From: a\nTo: b\n\nhi")
    assert is_message("From ann Mon Nov 16 2026\nFrom: a\nSubject: b\n\nhi")
    assert not is_message("Subject: hello, one line alone\n\nbody")
    assert not is_message("From: a\nTo: b\nand so on")
    assert not are_messages(["From: a\nTo: b\n\nhi", "a text"])
    assert not are_messages(["", " "])


@pytest.mark.parametrize("form", ["eml", "boxes", "packed", "maildirs"])
def test_training_reads_subject_and_body_and_says_so(run, mail, form):
    code, out, err = run("train", mail / form, "-m", "multinomial", "-o", "mail.model")
    assert code == 0, err
    assert err == (
        f"note: {mail / form}: the texts are e-mail messages; of each, subject and body are read; --set message=whole "
        "reads the whole message\n"
    )
    assert "8 documents, 2 classes" in out
    model = TextClassifier.load("mail.model")
    assert model.message == "subject-body"
    known = set(model.vocabulary_)
    assert {"invoice", "refund", "contract"} <= known
    assert not {"content", "org", "7bit", "received", "esmtps", "label", "secretbytes", "markup"} & known


def test_all_forms_give_one_model(run, mail):
    files = set()
    for form in ("eml", "boxes", "packed", "maildirs"):
        assert run("train", mail / form, "-m", "nbsvm", "-o", f"{form}.model", "-q")[0] == 0
        fitted = TextClassifier.load(f"{form}.model")
        files.add((fitted.scores(["refund of an invoice"]).tobytes(), tuple(fitted.get_feature_names_out())))
    assert len(files) == 1


@pytest.mark.parametrize("with_mail", [True, False])
def test_predict_has_a_row_for_each_message(run, mail, with_mail):
    (mail / "plain.csv").write_text(
        "text,label\n" + "".join(f"{one},{queue}\n" for queue, texts in SUBJECTS.items() for one in texts)
    )
    source = mail / ("eml" if with_mail else "plain.csv")
    assert run("train", source, "-m", "multinomial", "-o", "m.model", "-q")[0] == 0
    for box in ("boxes/billing.mbox", "packed/billing.mbox.gz", "maildirs/billing"):
        code, out, err = run("predict", "m.model", mail / box)
        rows = sorted(csv.DictReader(out.splitlines()), key=lambda row: row["id"])
        assert (code, [row["label"] for row in rows]) == (0, ["billing"] * 4)
        assert list(rows[0]) == ["id", "from", "to", "date", "subject", "label", "probability", "known_terms"]
        assert (rows[1]["id"], rows[1]["subject"]) == ("billing-1@example.org", "Refund please – é")
        assert ("the texts are e-mail messages; of each, subject and body are read" in err) is not with_mail


def test_labels_of_one_mailbox_are_a_field_that_somebody_names(run, mail):
    both = b"".join((mail / "boxes" / f"{queue}.mbox").read_bytes() for queue in SUBJECTS)
    (mail / "all.mbox").write_bytes(both)
    with pytest.raises(
        BadData, match=r"which column of .*all.mbox holds the labels\?.* x-label \(billing\).*; use --label"
    ):
        DataFile(str(mail / "all.mbox")).corpus()
    assert documents(mail / "all.mbox", label="x-label") == documents(mail / "eml")
    code, out, _ = run("train", mail / "all.mbox", "--label", "x-label", "-m", "multinomial", "-o", "m.model")
    assert code == 0
    assert "(mbox, each message a document): text from text, labels from x-label, 8 rows" in out


def test_folders_of_a_maildir_are_its_classes(mail):
    root = mailbox.Maildir(mail / "Maildir")
    for queue, subjects in SUBJECTS.items():
        folder = root.add_folder(queue)
        for number, subject in enumerate(subjects):
            folder.add(make_message(queue, number, subject))
    assert documents(mail / "Maildir") == documents(mail / "eml")


@pytest.mark.slow
def test_label_and_audit_show_what_people_read(run, mail):
    code, _, err = run("label", "status", mail / "boxes" / "billing.mbox", "-o", "labels.db")
    assert (code, "the texts are e-mail messages" in err) == (0, True)
    texts = LabelRecord(Path("labels.db")).texts()
    assert texts[0] == "Invoice twice – é\nDear team,\nFrom now on: invoice twice."
    code, out, err = run("audit", mail / "eml", "--json", "--fast")
    assert (code, "the texts are e-mail messages" in err) == (0, True)
    assert not {"boilerplate", "near-duplicate-conflict"} & set(json.loads(out)["kinds"])


def test_lines_that_begin_with_from_are_no_new_messages(tmp_path):
    path = tmp_path / "a.mbox"
    path.write_text(
        "From ann Mon\nFrom: a\nSubject: one\n\nhello\n>From me to you\nFrom here on\n\n"
        "From bob Tue\nFrom: b\nTo: c\n\nbye\n"
    )
    texts = [text for batch in DataFile(str(path)).batches(labelled=False) for text in batch.texts]
    assert texts == ["From: a\nSubject: one\n\nhello\nFrom me to you\nFrom here on\n", "From: b\nTo: c\n\nbye\n"]
    (tmp_path / "b.mbox").write_text("no mail at all\n")
    with pytest.raises(BadData, match=r"b\.mbox is not an mbox file; expected messages"):
        list(DataFile(str(tmp_path / "b.mbox")).batches(labelled=False))


def test_a_flat_folder_of_messages_is_a_table_of_them(mail):
    (mail / "flat").mkdir()
    for path in (mail / "eml").rglob("*.eml"):
        (mail / "flat" / f"{path.parent.name}-{path.name}").write_bytes(path.read_bytes())
    with pytest.warns(UnnaiveWarning, match="the texts are e-mail messages"):
        corpus = DataFile(str(mail / "flat"), label="X-Label", message="subject-body").corpus()
    assert corpus.class_sizes() == {"access": 4, "billing": 4}
    assert (corpus.ids[0], corpus.texts[0].partition("\n")[0]) == ("access-0.eml", "Password lost – é")


def test_a_header_field_goes_by_the_name_that_it_has_in_messages(mail):
    for name in ("X-Label", "x-label"):
        source = DataFile(str(mail / "maildirs" / "billing"), label=name)
        assert source.corpus().class_sizes() == {"billing": 4}
        assert f"labels from {name}" in source.describe()


def test_one_message_is_one_document(mail, tmp_path):
    saved = tmp_path / "saved.txt"
    for text in ("From: ann@example.org\nSubject: Lost card\n\nPlease\n\nblock it.\n", "Lost card\nPlease\n"):
        saved.write_text(text)
        found = [one for batch in DataFile(str(saved)).batches(labelled=False) for one in batch.texts]
        assert found == ([text] if is_message(text) else text.splitlines())
    saved.write_text("From ann Mon\nFrom: a@b\nTo: c@d\n\none\n\nFrom bob Tue\nFrom: b@b\nTo: c@d\n\ntwo\n\n")
    found = [one for batch in DataFile(str(saved)).batches(labelled=False) for one in batch.texts]
    assert found == ["From: a@b\nTo: c@d\n\none\n", "From: b@b\nTo: c@d\n\ntwo\n"]


@pytest.mark.parametrize("charset", ["undefined", "idna", "punycode", "hex", "unknown"])
def test_a_message_that_states_a_charset_of_no_texts_is_read(charset):
    raw = f"Subject: x\nContent-Type: text/plain; charset={charset}\n\ncaf".encode() + b"\xe9 xn--9\n"
    assert decode_message(raw, None, "cp1252").endswith("\n\ncafé xn--9\n")
