"""Files of extreme classification: the counts and labels of scikit-learn's reader; and texts beside labels."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from unnaive import BadData, LabelTree, TextClassifier, read_texts_and_labels, read_xc


def draw(seed, n_docs=60, n_features=25, n_labels=6):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (n_docs, n_features)) * rng.choice([1.0, 0.25], (n_docs, n_features))
    labels = [sorted(rng.permutation(n_labels)[: rng.integers(0, 4)].tolist()) for _ in range(n_docs)]
    return X, labels


def write_xc(path, X, labels, n_labels=6):
    lines = [f"{len(X)} {X.shape[1]} {n_labels}"]
    for row, names in zip(X, labels, strict=True):
        pairs = " ".join(f"{column}:{row[column]!r}" for column in np.flatnonzero(row))
        lines.append(f"{','.join(map(str, names))} {pairs}".replace("np.float64(", "").replace(")", ""))
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz"])
@pytest.mark.parametrize("seed", range(3))
def test_an_xc_file_is_read_as_it_was_written_and_as_by_scikit_learn(tmp_path, seed, name):
    X, labels = draw(seed)
    found = read_xc(write_xc(tmp_path / name, X, labels))
    np.testing.assert_array_equal(found.X.toarray(), X)
    assert found.labels == [tuple(names) for names in labels]
    plain = write_xc(tmp_path / "plain.txt", X, labels).read_bytes().split(b"\n", 1)[1]
    (tmp_path / "plain.txt").write_bytes(plain)
    theirs, their_labels = load_svmlight_file(
        tmp_path / "plain.txt", n_features=X.shape[1], multilabel=True, zero_based=True
    )
    np.testing.assert_array_equal(theirs.toarray(), X)
    assert [tuple(map(int, names)) for names in their_labels] == found.labels


def test_matrices_of_features_and_labels_are_two_files(tmp_path):
    (tmp_path / "X.txt").write_text("2 3\n0:1 2:2.5\n\n")
    (tmp_path / "Y.txt").write_text("2 4\r\n3:1.0 0:1.0\r\n1:1\r\n")
    found = read_xc(tmp_path / "X.txt", tmp_path / "Y.txt")
    assert found.X.toarray().tolist() == [[1, 0, 2.5], [0, 0, 0]]
    assert found.Y.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    (tmp_path / "Z.txt").write_text("1 4\n1:1\n")
    with pytest.raises(BadData, match=r"X\.txt has 2 rows and .*Z\.txt has 1; give files of one part"):
        read_xc(tmp_path / "X.txt", tmp_path / "Z.txt")


def test_lines_without_labels_or_without_features(tmp_path):
    (tmp_path / "a.txt").write_text("4 2 2\n 0:1\n1:3\n1,0\n0,0,1 1:1 1:2\n")
    found = read_xc(tmp_path / "a.txt")
    assert found.labels == [(), (), (0, 1), (0, 1)]
    assert found.X.toarray().tolist() == [[1, 0], [0, 3], [0, 0], [0, 3]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "begins with ''; an XC file begins with three or two sizes, here documents features labels"),
        ("1 2\n0:1\n", "begins with '1 2'; an XC file begins with three or two sizes, here documents features labels"),
        ("text,label\n", "begins with 'text,label'; an XC file begins"),
        ("2 2 2\n0 0:1\n", "has 1 documents, and its first line says 2; copy it again"),
        ("1 2 2\n0 0:1\n1 0:1\n", "has 2 documents, and its first line says 1; copy it again"),
        ("1 2 2\na 0:1\n", "line 2 has the labels 'a'; labels are whole numbers"),
        ("2 2 2\n0 0:1\n0 0:1 1\n", "line 3 has a pair that is not number:value; correct it"),
        ("1 2 2\n0 0:x\n", "line 2 has a pair that is not number:value; correct it"),
        ("1 2 2\n0 0:nan\n", "line 2 has a value that is not a finite number; correct it"),
        ("2 2 2\n0\n0 2:1\n", "line 3 has feature 2, and its first line says that features have numbers from 0 to 1"),
        ("2 2 2\n0\n-1 1:1\n", "line 3 has label -1, and its first line says that labels have numbers from 0 to 1"),
        (f"1 2 2\n{10**30} 0:1\n", "line 2 has the labels '10000"),
    ],
)
def test_what_is_no_xc_file_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(BadData) as problem:
        read_xc(tmp_path / "a.txt")
    assert sentence in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_tree_of_labels_learns_from_an_xc_file_and_forgets_exactly(tmp_path):
    X, labels = draw(3, n_docs=80)
    found = read_xc(write_xc(tmp_path / "a.txt", np.ceil(X), labels))
    rows = np.arange(80) < 60
    whole = LabelTree().fit(found.X, found.Y)
    parts = LabelTree().fit(found.X[rows], found.Y[rows]).partial_fit(found.X[~rows], found.Y[~rows])
    np.testing.assert_array_equal(parts.decision_function(found.X), whole.decision_function(found.X))
    forgot = parts.forget(found.X[~rows], found.Y[~rows])
    expected = LabelTree().fit(found.X[rows], found.Y[rows])
    np.testing.assert_array_equal(forgot.decision_function(found.X), expected.decision_function(found.X))


def test_texts_beside_a_file_of_labels(tmp_path):
    (tmp_path / "X.txt").write_text("good ball goal\nfair vote, new law\n\ngoal vote\n", encoding="utf-8")
    (tmp_path / "Y.txt").write_text("sport\npolitics law law\n\nsport politics\n", encoding="utf-8")
    texts, labels = read_texts_and_labels(tmp_path / "X.txt", tmp_path / "Y.txt")
    assert texts == ["good ball goal", "fair vote, new law", "", "goal vote"]
    assert labels == [("sport",), ("politics", "law"), (), ("sport", "politics")]
    model = TextClassifier("label-tree", multilabel=True, decision="untuned").fit(texts, labels)
    assert model.classes_.tolist() == ["law", "politics", "sport"]
    (tmp_path / "Y.txt").write_text("a b,c\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"X\.txt has 4 lines and .*Y\.txt has 1; each text needs a line"):
        read_texts_and_labels(tmp_path / "X.txt", tmp_path / "Y.txt")
    (tmp_path / "X.txt").write_text("hem şehir\n", encoding="utf-8")
    assert read_texts_and_labels(tmp_path / "X.txt", tmp_path / "Y.txt", separator=",") == (
        ["hem şehir"], [("a b", "c")]
    )  # fmt: skip
    (tmp_path / "X.txt").write_bytes("şehir\n".encode("iso8859-9"))
    with pytest.raises(BadData, match="is not UTF-8"):
        read_texts_and_labels(tmp_path / "X.txt", tmp_path / "Y.txt")
