"""An audit that was stopped goes on from the folds that it had finished, with the same result."""

import csv

import numpy as np
import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.curation.audit import label_errors
from unnaive.curation.audit.label_errors import out_of_fold_evidence
from unnaive.curation.audit.unfinished import Unfinished

from .test_label_errors import planted


def stop_after(monkeypatch, folds):
    """Ctrl-C while the next fold is computed."""
    left = [folds]
    members = label_errors.MEMBERS

    def stopping(member):
        def scores(*arguments):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return member(*arguments)

        return scores

    monkeypatch.setattr(label_errors, "MEMBERS", tuple(map(stopping, members)))


def test_finished_folds_are_not_computed_again_and_the_result_is_the_same(tmp_path, monkeypatch):
    X, given, _, n_classes = planted()
    whole = out_of_fold_evidence(X, given, n_classes)
    kept = Unfinished(tmp_path / "kept", patience=0)
    with monkeypatch.context() as patch:
        stop_after(patch, 12)
        with pytest.raises(KeyboardInterrupt):
            out_of_fold_evidence(X, given, n_classes, kept=kept)
    assert kept.number == 12
    with monkeypatch.context() as patch:
        stop_after(patch, 30 - 12)  # one more would be Ctrl-C
        again = out_of_fold_evidence(X, given, n_classes, kept=kept)
    np.testing.assert_array_equal(again.log_given, whole.log_given)
    kept.remove()
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
def test_scores_of_other_data_and_damaged_files_are_not_taken(tmp_path):
    X, given, _, n_classes = planted()
    kept = Unfinished(tmp_path / "kept", patience=0)
    out_of_fold_evidence(X, given, n_classes, kept=kept)
    other = given.copy()
    other[:50] = (other[:50] + 1) % n_classes
    np.testing.assert_array_equal(
        out_of_fold_evidence(X, other, n_classes, kept=kept).log_given,
        out_of_fold_evidence(X, other, n_classes).log_given,
    )
    for path in (tmp_path / "kept").glob("*.npy"):
        raw = bytearray(path.read_bytes())
        raw[-3] ^= 1  # a value that could be a score
        path.write_bytes(raw)
    with pytest.warns(UnnaiveWarning, match="is damaged .wrong checksum.; its scores are computed again"):
        again = out_of_fold_evidence(X, given, n_classes, kept=kept)
    np.testing.assert_array_equal(again.log_given, out_of_fold_evidence(X, given, n_classes).log_given)
    journal = tmp_path / "kept" / "folds.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"file"', b'"fila"', 1))
    with pytest.raises(UnnaiveError, match=r"folds\.jsonl is damaged, .* \(line 1 is not what .*; remove the folder"):
        out_of_fold_evidence(X, given, n_classes, kept=kept)


def test_a_short_audit_writes_nothing_but_its_results(tmp_path):
    X, given, _, n_classes = planted()
    out_of_fold_evidence(X, given, n_classes, kept=Unfinished(tmp_path / "kept", patience=60))
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Unfinished.__init__, "__kwdefaults__", {"patience": 0.0})
    draw = np.random.default_rng(0)
    words = {"sport": ["ball", "goal", "team"], "law": ["vote", "court", "judge"]}
    with (tmp_path / "data.csv").open("w", newline="") as file:
        rows = [(" ".join(draw.choice(words[one], 5)), one) for one in list(words) * 30]
        csv.writer(file).writerows([("text", "label"), *rows])
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        assert exit_code(["audit", "data.csv", "-o", "out"]) == 130
    said = capsys.readouterr().err
    assert "out/unfinished-audit keeps 7 folds of the search for label errors" in said
    assert "run the same command" in said
    assert not (tmp_path / "out" / "findings.csv").exists()
    with monkeypatch.context() as patch:
        stop_after(patch, 30 - 7)
        assert exit_code(["audit", "data.csv", "-o", "out"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["audit.html", "findings.csv"]
