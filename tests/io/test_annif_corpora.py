"""Annif's corpora as multilabel tables: `--format annif`."""

import json

import pytest

from unnaive.base.errors import BadData
from unnaive.io.datafiles import DataFile
from unnaive.io.tables.line_tables import split_annif
from unnaive.workflows.train import train_file

A, B = "http://example.org/a", "http://example.org/b"
TSV = f"good ball\t<{A}>\nfair vote\t<{B}> <{A}>\n\nno subject\t\n" * 3
JSONL = "".join(
    json.dumps({"text": text, "subjects": [{"uri": uri} for uri in uris]}) + "\n"
    for text, uris in (("good ball", [A]), ("fair vote", [B, A]), ("no subject", []))
) * 3  # fmt: skip


@pytest.mark.parametrize("content", [TSV, JSONL, TSV.replace("<", "").replace(">", "")])
def test_the_uris_are_the_labels(tmp_path, content):
    path = tmp_path / "corpus.tsv"
    path.write_text(content, encoding="utf-8")
    assert DataFile(str(path), format="annif").corpus().labels == [(A,), (B, A), ()] * 3
    classifier = train_file(DataFile(str(path), format="annif"), model="maxent").classifier
    fitted = classifier.fitted_
    assert (fitted.classes, fitted.target_type) == ((A, B), "sets")
    assert fitted.predict_proba(["fair vote"])[0].round().tolist() == [1.0, 1.0]


def test_the_text_ends_at_the_first_tab():
    assert split_annif(f"a, b <c>\t<{A}>\t<{B}>\r\n") == ("a, b <c>", [A, B])
    assert split_annif("no tab\n") == ("no tab", [])
    assert split_annif(json.dumps({"document_id": 1, "text": "a"})) == ("a", [])


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("{broken", "is no document of Annif"), ('{"text": 1}', "is no document of Annif"),
        ('{"text": "a", "subjects": "x"}', "is no document of Annif"),
        ('{"text": "a", "subjects": [{}]}', "has no uri and no label"),
        ('{"text": "a", "subjects": ["x"]}', "has no uri and no label"),
        ("{" * 5000, "is no document of Annif"),
    ],
)  # fmt: skip
def test_a_line_that_is_none_names_the_file(tmp_path, line, match):
    path = tmp_path / "corpus.jsonl"
    path.write_text(JSONL + line + "\n", encoding="utf-8")
    with pytest.raises(BadData, match=rf"corpus\.jsonl.*{match}"):
        DataFile(str(path), format="annif").corpus()
