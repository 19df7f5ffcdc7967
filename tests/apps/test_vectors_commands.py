"""`--word-vectors` × every verb of the command line, and what is said of bad files."""

import json
import re

import pytest

GLOVE = {
    "sport": ["goal", "ball", "team", "coach", "keeper", "league"],
    "politics": ["vote", "law", "minister", "budget", "senate", "election"],
}
TRAIN = ["--budget", "fast", "--word-vectors", "glove.txt"]
NEW = "text,label\nkeeper league,sport\nthe senate election,politics\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """glove.txt, whose words of a topic are near each other, and texts that have the first four of each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = ["the 0.5 0.5 0.1", "a 0.5 0.4 0.2"]
    for place, (first, second) in enumerate(zip(*GLOVE.values(), strict=True)):
        lines += [f"{first} 1 0.{place} 0.1", f"{second} 0.{place} 1 0.1"]
    (tmp_path / "glove.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [
        f"the {words[number % 4]} a {words[(number + 1 + number // 4) % 4]} day{number},{label}"
        for number in range(12)
        for label, words in GLOVE.items()
    ]
    for name, part in (("old.csv", rows[:16]), ("more.csv", rows[16:]), ("all.csv", rows)):
        (tmp_path / name).write_text("text,label\n" + "".join(f"{row}\n" for row in part), encoding="utf-8")
    (tmp_path / "new.csv").write_text(NEW, encoding="utf-8")
    return tmp_path


def done(found):
    """stdout of a command that must succeed."""
    code, out, err = found
    assert code == 0, err
    return out


@pytest.mark.slow
def test_update_and_forget_give_the_bytes_of_training_at_once(run, files):
    for source, name in (("old.csv", "a"), ("all.csv", "b"), ("old.csv", "c"), ("more.csv", "d")):
        done(run("train", source, *TRAIN, "-o", f"{name}.model"))
    (files / "glove.txt").unlink()  # a model has its vectors with it
    done(run("update", "a.model", "more.csv"))
    assert (files / "a.model").read_bytes() == (files / "b.model").read_bytes()
    done(run("forget", "a.model", "more.csv", "--receipt", "r.json"))
    assert (files / "a.model").read_bytes() == (files / "c.model").read_bytes()
    done(run("verify", "a.model", "--receipt", "r.json"))
    done(run("merge", "c.model", "d.model", "-o", "e.model"))
    assert json.loads(done(run("evaluate", "e.model", "new.csv", "--json")))["measures"]["accuracy"] == 1


@pytest.mark.slow
def test_every_other_verb(run, files):
    done(run("train", "all.csv", *TRAIN, "-o", "m.model"))
    assert done(run("predict", "m.model", "new.csv")).splitlines()[1].startswith("keeper league,sport,sport")
    assert json.loads(done(run("evaluate", "m.model", "new.csv", "--json")))["measures"]["accuracy"] == 1
    shown = done(run("explain", "m.model", "keeper of the senate"))
    assert "keeper" in shown
    assert "senate" in shown
    assert re.search("word vectors +softmax regression", done(run("inspect", "m.model")))
    done(run("compress", "m.model", "-o", "small.model", "--max-size", "8kB"))
    done(run("predict", "small.model", "new.csv"))
    done(run("train", "all.csv", *TRAIN, "--memory", "1G", "-o", "disk.model"))
    assert done(run("predict", "disk.model", "new.csv")) == done(run("predict", "m.model", "new.csv"))
    done(run("export", "m.model", "--to", "js", "-o", "out"))
    done(run("compare", "all.csv", "--word-vectors", "glove.txt", "--models", "svm,multinomial", "--folds", "3"))
    done(run("label", "status", "all.csv", "-o", "labels.db"))
    rows = (files / "all.csv").read_text(encoding="utf-8").splitlines()
    (files / "many.csv").write_text("\n".join([rows[0], *rows[1:] * 3]), encoding="utf-8")
    found = done(
        run("label", "simulate", "many.csv", "--set", "word-vectors=glove.txt", "--labels", "20", "--seeds", "2")
    )
    assert "random" in found


@pytest.mark.slow
def test_the_service_knows_words_by_their_vectors(run, files):
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import ServiceOptions, create_app

    done(run("train", "all.csv", *TRAIN, "-o", "m.model"))
    options = ServiceOptions(models={"m": str(files / "m.model")}, token="t", hosts=("testserver",))
    with TestClient(create_app(options)) as client:
        asked = {"inputs": "keeper league"}
        answer = client.post("/predict", json=asked, headers={"Authorization": "Bearer t"})
        assert answer.status_code == 200, answer.text
        assert answer.json()[0]["label"] == "sport"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["--word-vectors", "all.csv"], "all.csv has no word vectors: its first line is 'text,label'"),
        (["--word-vectors", "empty.txt"], "empty.txt has no word vectors: it is empty"),
        (["--word-vectors", "absent.txt"], "absent.txt"),
        (["--word-vectors", "."], "is a folder without model.safetensors and tokenizer.json"),
        (["--word-vectors", "glove.txt", "-m", "multinomial"], "cannot use word vectors"),
    ],
)
def test_what_cannot_be_is_one_sentence(run, files, command, sentence):
    (files / "empty.txt").write_bytes(b"")
    code, _, err = run("train", "all.csv", *command, "-o", "x.model")
    assert (code, sentence in err, err.count("\n")) == (2, True, 1), err
