"""Unlearning that can be shown: receipts, registers and keys."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import hash_file
from unnaive.classifier.model_file import load_model, save
from unnaive.classifier.receipt_schema import find_problem, read_receipt
from unnaive.classifier.receipts import register_documents
from unnaive.data.document_register import Register, make_key

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

ROWS = [("good ball in the game", "sport"), ("fair vote for the law", "politics"), ("warm soup", "food")]
HEAD = "text,label\n"
SMALL = {"svm": "C=1.0", "knn": "k=3", "maxent": "max_iter=20", "tan": "features=6"}


def write(name, rows):
    Path(name).write_text(HEAD + "".join(f"{text},{label}\n" for text, label in rows))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rest = [(f"{text} {number}a{number}", label) for number in range(5) for text, label in ROWS]
    gone = [("the ball of mr smith", "sport"), ("a soup for mr smith", "food")]
    write("rest.csv", rest)
    write("gone.csv", gone)
    write("all.csv", gone + rest)
    write("other.csv", [("good ball", "sport")])  # never learnt, though the counts cannot tell
    Path("key").write_bytes(b"0123456789abcdef-secret")
    Path("other-key").write_bytes(b"fedcba9876543210-secret")
    return tmp_path


def run(words):
    return exit_code(words.split())


@pytest.mark.parametrize("keyed", ["", " --key key"])
@pytest.mark.parametrize("registered", [False, True])
def test_what_is_forgotten_can_be_shown(folder, capsys, keyed, registered):
    train_key = keyed if registered else ""
    assert run(f"train all.csv -m multinomial -o m.model{' --register' if registered else ''}{train_key}") == 0
    assert run(f"forget m.model gone.csv --receipt r.json{keyed}") == 0
    capsys.readouterr()
    assert run(f"verify m.model --receipt r.json --remaining rest.csv{keyed}") == 0
    shown = capsys.readouterr().out
    assert "yes         bytes      the file is equal to that of such a model, tuned and chosen again, byte" in shown
    assert "NO" not in shown
    assert "not checked" in shown
    receipt = json.loads(Path("r.json").read_text())
    assert (receipt["documents"], receipt["registered"], len(receipt["document_hashes"])) == (2, registered, 2)
    assert (receipt["hash"]["key"] is None) == (not keyed)
    assert "smith" not in Path("r.json").read_text()
    assert b"smith" not in Path("m.model").read_bytes()


@pytest.mark.parametrize("model", ["svm", "knn", "maxent", "tan"])
@pytest.mark.parametrize("registered", ["", " --register"])
@pytest.mark.slow
def test_models_that_keep_documents_show_what_they_forgot_too(folder, capsys, model, registered):
    assert run(f"train all.csv -o m.model --model {model}{registered} --set {SMALL[model]}") == 0
    assert run(f"train rest.csv -o rest.model --model {model}{registered} --set {SMALL[model]}") == 0
    before = Path("m.model").read_bytes()
    assert run("forget m.model other.csv") == 2  # "good ball" is in no class without a register or with one
    assert Path("m.model").read_bytes() == before
    capsys.readouterr()
    assert run("forget m.model gone.csv --receipt r.json") == 0
    assert "now has 15 documents (was 17), 3 classes, " in capsys.readouterr().out
    assert run("verify m.model --receipt r.json --remaining rest.csv") == 0
    shown = capsys.readouterr().out
    assert "all counted documents equal those of a model trained on the data" in shown
    assert "the file is equal to that of such a model, tuned and chosen again, byte for byte" in shown
    assert Path("m.model").read_bytes() == Path("rest.model").read_bytes()
    assert "counted documents" in json.loads(Path("r.json").read_text())["statement"]
    assert run("verify m.model --receipt r.json --remaining all.csv") == 1
    assert run("update m.model gone.csv") == 0
    assert Path("m.model").read_bytes() == before


def test_a_model_that_is_not_the_one_of_the_receipt(folder, capsys):
    run("train all.csv -m multinomial -o m.model")
    run("forget m.model gone.csv --receipt r.json -o after.model")
    assert run("verify m.model --receipt r.json") == 1
    assert run("verify after.model --receipt r.json --remaining all.csv") == 1
    assert "2 of the forgotten documents are in the data" in capsys.readouterr().out
    assert run("verify after.model --receipt r.json --remaining rest.csv --json") == 0


def test_a_register_refuses_what_was_never_learnt_and_what_is_forgotten_already(folder, capsys):
    run("train all.csv -m multinomial -o plain.model")
    run("train all.csv -m multinomial -o m.model --register")
    assert run("forget plain.model other.csv") == 0  # the limit that the register removes
    before = Path("m.model").read_bytes()
    assert run("forget m.model other.csv") == 2
    assert "is not in the model's register" in capsys.readouterr().err
    assert Path("m.model").read_bytes() == before
    assert run("forget m.model gone.csv --receipt r.json") == 0
    assert run("forget m.model gone.csv") == 2
    assert run("update m.model gone.csv") == 0
    assert run("verify m.model --receipt r.json") == 1
    assert run("forget m.model gone.csv") == 0


def test_a_register_with_a_key_is_changed_with_that_key_alone(folder, capsys):
    run("train all.csv -m multinomial -o m.model --register --key key")
    for words in ("update m.model other.csv", "forget m.model gone.csv", "forget m.model gone.csv --key other-key"):
        assert run(words) == 2
        assert "was made with a key; give that file as --key" in capsys.readouterr().err
    assert run("update m.model other.csv --key key") == 0
    assert b"secret" not in Path("m.model").read_bytes()
    Path("short").write_bytes(b"abc")
    assert run("train all.csv -m multinomial -o n.model --register --key short") == 2


def test_merging_joins_registers(folder):
    run("train rest.csv -m multinomial -o a.model --register")
    run("train gone.csv -m multinomial -o b.model --register")
    run("train all.csv -m multinomial -o c.model --register")
    assert run("merge a.model b.model -o ab.model") == 0
    assert run("remake c.model --set alpha=0.5") == 0
    np.testing.assert_array_equal(load_model("ab.model").register.hashes, load_model("c.model").register.hashes)
    assert len(load_model("ab.model").register) == 17
    run("train gone.csv -m multinomial -o plain.model")
    with pytest.warns(UnnaiveWarning, match="not all of these models have a register"):
        TextClassifier.load("a.model").merge(TextClassifier.load("plain.model"))


def test_a_register_takes_no_weights_and_frozen_models_no_register(folder):
    texts, labels = [text for text, _ in ROWS], [label for _, label in ROWS]
    fitted = register_documents(
        TextClassifier("multinomial").fit(texts, labels).fitted_, texts, [(one,) for one in labels]
    )
    with pytest.raises(UnnaiveError, match="with texts and labels, without weights"):
        TextClassifier.from_fitted(fitted).partial_fit(["ball"], ["sport"], sample_weight=[2])
    assert run("train all.csv -m multinomial -o m.model --register --frozen") == 2
    assert run("train all.csv -o m.model --register --model svm") == 0


def test_hashes_depend_on_text_labels_and_key_and_not_on_the_order_of_labels():
    def hashes(text, labels, key=None):
        return Register.of([text], [labels], key).hashes.tobytes()

    one = hashes("ball", ("a", "b"))
    assert one == hashes("ball", ("b", "a"))
    keys = [make_key(b"0" * 16), make_key(b"1" * 16)]
    others = [hashes("ball", ("a",)), hashes("ball ", ("a", "b")), hashes('"]\0ball', ("a",)), *(
        hashes("ball", ("a", "b"), key) for key in keys)]  # fmt: skip
    assert len({one, *others}) == 6
    assert len(hashes("half \ud800", ("a",))) == 16


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "null", '{"receipt": "unnaive unlearning"}', "[" * 100_000, '{"receipt": 1, "format": 1}'],
)
def test_what_is_no_receipt(tmp_path, content):
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(
        BadData, match=r"is not a receipt of unlearning .*; name a file that unnaive forget --receipt wrote"
    ):
        read_receipt(path)


@pytest.mark.parametrize("words", ["--receipt gone.csv", "--receipt m.model", "--receipt key --key key"])
def test_a_receipt_is_not_written_over_what_is_read(folder, words):
    run("train all.csv -m multinomial -o m.model")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(f"forget m.model gone.csv {words}") == 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.fixture
def receipt(folder, capsys):
    """A model with a keyed register, and a receipt that is signed with the key of its hashes."""
    assert run("train all.csv -m multinomial -o m.model --register --key key") == 0
    assert run("forget m.model gone.csv --receipt r.json --key key") == 0
    capsys.readouterr()
    return json.loads(Path("r.json").read_text())


def write_json(name, values):
    Path(name).write_text(json.dumps(values))


def test_a_receipt_without_the_key_of_the_register_is_not_accepted(receipt, capsys):
    """Documents that are still learnt, hashed without a key: nothing of it is in a register of keyed hashes."""
    still = Register.of(["good ball in the game 0a0"], [("sport",)]).hashes.tobytes().hex()
    forged = receipt | {"hash": receipt["hash"] | {"key": None}, "document_hashes": [still], "documents": 1}
    forged["before"] = forged["before"] | {"documents": forged["after"]["documents"] + 1}
    del forged["signature"]
    write_json("forged.json", forged)
    assert run("verify m.model --receipt forged.json --json") == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["verified"]
    assert {one["name"]: one["holds"] for one in found["checks"]}["register"] is False


FORGERIES = {
    "zero documents": ({"documents": 0, "document_hashes": []}, "its documents is not a whole number from 1 on"),
    "short hashes": ({"document_hashes": ["00", "01"]}, "its document_hashes is not distinct hashes of 16 bytes"),
    "empty hashes": ({"document_hashes": ["", ""]}, "its document_hashes is not"),
    "long hashes": ({"document_hashes": ["0" * 80, "1" * 80]}, "its document_hashes is not"),
    "equal hashes": ({"documents": 275, "document_hashes": ["0" * 32] * 275}, "its document_hashes is not distinct"),
    "more than hashes": ({"documents": 3}, "it names 3 documents but has hashes of 2"),
    "format true": ({"format": True}, "its format is not 2"),
    "another statement": ({"statement": "All is well."}, "its statement is not one of the statements"),
    "no time": ({"time": "yesterday"}, "its time is not a time with its zone"),
    "not yet": ({"time": "9999-12-31T23:59:59+00:00"}, "its time is not a time with its zone, not in the future"),
    "unsigned": ({"signature": None}, "its signature is not a table"),
    "kept": ({"kept_from_before": ["weights"]}, "its kept_from_before is not"),
    "another field": ({"more": 1}, "it has a field 'more', which receipts do not have"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_values_that_cannot_be_are_a_sentence(receipt, capsys, name):
    change, sentence = FORGERIES[name]
    assert sentence in find_problem(receipt | change)
    write_json("forged.json", receipt | change)
    assert run("verify m.model --receipt forged.json") == 2
    assert "forged.json is not a receipt of unlearning that this version can read" in capsys.readouterr().err


def test_every_missing_field_is_a_sentence(receipt, capsys):
    for name in receipt:
        if name != "signature":
            assert find_problem({key: value for key, value in receipt.items() if key != name}) == f"it has no {name}"
    for part in ("before", "after", "hash", "signature"):
        for name in receipt[part]:
            bare = {key: value for key, value in receipt[part].items() if key != name}
            assert find_problem(receipt | {part: bare}) == f"it has no {part}.{name}"
    same = receipt | {"after": receipt["after"] | {"sha256": receipt["before"]["sha256"]}}
    assert find_problem(same) == "the file before and the file after are the same"
    more = receipt | {"before": receipt["before"] | {"documents": 99}}
    assert find_problem(more) == "99 documents before minus 2 forgotten are not 15 after"


def test_fields_that_contradict_each_other_or_are_there_twice_are_a_sentence(receipt, tmp_path):
    bare = {key: value for key, value in receipt.items() if key != "signature"}
    assert find_problem(bare) == "its hashes were made with a key, and it is not signed"
    signature = receipt["signature"]
    other = receipt | {"signature": signature | {"key": "0" * 16}}
    assert find_problem(other) == "it is signed with another key than that of its hashes"
    long = receipt | {"signature": signature | {"value": "0" * 128}}
    assert find_problem(long) == "its signature does not have the size of hmac-sha256 signatures"
    odd = receipt | {"signature": signature | {"by": ["hmac-sha256"]}}
    assert find_problem(odd) == "its signature.by is not one of ed25519, hmac-sha256"
    (tmp_path / "twice.json").write_text('{"documents": 275, ' + json.dumps(receipt)[1:])
    with pytest.raises(BadData, match="a field occurs twice"):
        read_receipt(tmp_path / "twice.json")


def test_nothing_is_verified_where_nothing_shows_that_the_documents_are_gone(folder, capsys):
    """Without a register, a forged receipt cannot be told from a true one: the answer is null, not true."""
    run("train all.csv -m multinomial -o m.model")
    run("forget m.model gone.csv --receipt r.json")
    forged = json.loads(Path("r.json").read_text()) | {"document_hashes": ["0" * 32, "1" * 32]}
    write_json("forged.json", forged)
    capsys.readouterr()
    for receipt in ("r.json", "forged.json"):
        assert run(f"verify m.model --receipt {receipt} --json") == 0
        assert json.loads(capsys.readouterr().out)["verified"] is None
    assert run("verify m.model --receipt forged.json") == 0
    assert "no check shows that the documents are gone" in capsys.readouterr().out
    assert run("verify m.model --receipt r.json --remaining rest.csv --json") == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True


def test_a_register_alone_proves_nothing(folder, capsys):
    """A forged model has learnt a document, and its register names an invented one."""
    run("train all.csv -m multinomial -o m.model --register")
    run("forget m.model gone.csv --receipt r.json")
    honest = load_model("m.model")
    texts, labels = zip(*(line.split(",") for line in Path("rest.csv").read_text().splitlines()[1:]), strict=True)
    forged = TextClassifier("multinomial").fit(["the ball of mr smith", *texts[1:]], labels)
    invented = Register.of(["invented", *texts[1:]], [(label,) for label in labels])
    save(replace(forged.fitted_, register=invented, text_hashes=None, source=honest.source), "m.model")
    receipt = json.loads(Path("r.json").read_text())
    write_json("forged.json", receipt | {"after": {
        "file": "m.model", "sha256": hash_file("m.model"), "documents": len(texts)}})  # fmt: skip
    capsys.readouterr()
    assert run("verify m.model --receipt forged.json --json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {check["name"]: check["holds"] for check in shown["checks"]}["register"] is True
    assert shown["verified"] is None


def test_the_key_of_the_hashes_signs(receipt, capsys):
    assert receipt["signature"]["by"] == "hmac-sha256"
    assert run("verify m.model --receipt r.json --key key --forgotten gone.csv") == 0
    assert "yes         signature  the signature was made with the key of --key (HMAC)" in capsys.readouterr().out
    invented = receipt | {"document_hashes": ["0" * 32, "1" * 32]}
    write_json("forged.json", invented)
    assert run("verify m.model --receipt forged.json --key key --forgotten gone.csv") == 1
    shown = capsys.readouterr().out
    assert "NO          signature  the signature was not made with the key of --key (HMAC)" in shown
    assert (
        "NO          documents  2 hashes that match no document of --forgotten, and 2 documents of it without a hash"
        in shown
    )
    assert run("verify m.model --receipt r.json") == 0
    assert "not checked signature  its signature (HMAC): give the key of the hashes as --key" in capsys.readouterr().out


def test_an_ed25519_key_signs(folder, capsys):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    for name in ("mine", "other"):
        key = ed25519.Ed25519PrivateKey.generate()
        Path(f"{name}.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        Path(f"{name}.pub").write_bytes(public)
    run("train all.csv -m multinomial -o m.model")
    before = Path("m.model").read_bytes()
    assert run("forget m.model gone.csv --sign mine.pem") == 2
    assert run("forget m.model gone.csv --receipt r.json --sign mine.pub") == 2
    assert "mine.pub has no private key in PEM" in capsys.readouterr().err
    assert Path("m.model").read_bytes() == before
    assert run("forget m.model gone.csv --receipt r.json --sign mine.pem") == 0
    assert run("verify m.model --receipt r.json --signer mine.pub") == 0
    assert "the signature was made with the private key of mine.pub (Ed25519)" in capsys.readouterr().out
    assert run("verify m.model --receipt r.json --signer other.pub") == 1
    forged = json.loads(Path("r.json").read_text()) | {"time": "2001-01-01T00:00:00+00:00"}
    write_json("forged.json", forged)
    assert run("verify m.model --receipt forged.json --signer mine.pub") == 1
    del forged["signature"]
    write_json("forged.json", forged)
    assert run("verify m.model --receipt forged.json --signer mine.pub") == 1
    assert "the receipt has no signature, and --signer requires one" in capsys.readouterr().out


def test_all_receipts_of_a_model_are_a_chain(folder, capsys):
    write("more.csv", [("good ball in the game 0a0", "sport")])
    run("train all.csv -m nbsvm -o m.model")
    assert run("forget m.model gone.csv --receipt one.json") == 0
    assert run("forget m.model more.csv --receipt two.json") == 0
    capsys.readouterr()
    assert run("verify m.model --receipt two.json --receipt one.json") == 0
    assert (
        "yes         chain      the 2 receipts form a chain: the file after each is the file before"
        in capsys.readouterr().out
    )
    assert run("verify m.model --receipt one.json") == 1
    assert run("update m.model other.csv") == 0
    write("last.csv", [("warm soup 1a1", "food")])
    assert run("forget m.model last.csv --receipt three.json") == 0
    assert run("verify m.model --receipt one.json --receipt three.json") == 1
    assert "the file after receipt 1 is not the file before receipt 2" in capsys.readouterr().out
    assert run("verify m.model --receipt three.json") == 0


def test_documents_that_were_learnt_twice_are_counted_twice(folder, capsys):
    rows = [("the ball of mr smith", "sport")] * 2
    write("twice.csv", rows)
    run("train all.csv -m multinomial -o m.model")
    assert run("update m.model twice.csv") == 0
    assert run("forget m.model twice.csv --receipt r.json") == 0
    receipt = json.loads(Path("r.json").read_text())
    assert list(receipt["repeated"].values()) == [2]
    assert run("verify m.model --receipt r.json --forgotten twice.csv --remaining all.csv") == 1
    assert "1 of the forgotten documents is in the data" in capsys.readouterr().out


@pytest.mark.slow
def test_a_choice_that_was_kept_is_told_everywhere(folder, capsys):
    run("train all.csv -o m.model --budget fast")
    assert run("forget m.model gone.csv --search keep --receipt kept.json -o kept.model") == 0
    assert "the selected models, chosen on 17 documents, were kept" in capsys.readouterr().out
    assert json.loads(Path("kept.json").read_text())["kept_from_before"] == ["choice of models"]
    assert run("verify kept.model --receipt kept.json --remaining rest.csv") == 0
    shown = capsys.readouterr().out
    assert "the file is equal to that of such a model, with its kept choice of models, byte for byte" in shown
    assert "not checked choice     that the choice of models does not depend on the documents" in shown
    assert run("inspect kept.model") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "this choice was made on 17 documents, not on the present documents of the model, and was kept" in shown
    forged = json.loads(Path("kept.json").read_text()) | {"kept_from_before": []}
    write_json("forged.json", forged)
    assert run("verify kept.model --receipt forged.json") == 1
    assert "the receipt and the model differ: what was kept from before" in capsys.readouterr().out
    assert run("forget m.model gone.csv --receipt whole.json") == 0
    assert json.loads(Path("whole.json").read_text())["kept_from_before"] == []
    assert run("train rest.csv -o rest.model --budget fast") == 0
    assert Path("m.model").read_bytes() == Path("rest.model").read_bytes()
    assert run("train all.csv -m nbsvm -o n.model") == 0
    assert run("forget n.model gone.csv --search keep") == 2
