"""The command `fasttext`: arguments and output of fastText's binary."""

import io
import subprocess
import sys

import pytest
from support.fasttext_files import FastTextParts, write_fasttext

from unnaive import fasttext
from unnaive.interop.fasttext.command import COMMANDS, Streams, run_command

LINES = "__label__sport good ball\n__label__politics fair vote\n" * 9


@pytest.fixture
def model_path(tmp_path):
    (tmp_path / "model.bin").write_bytes(write_fasttext(FastTextParts()))
    return str(tmp_path / "model.bin")


@pytest.fixture
def output(capsys):
    def output(*arguments, stdin=b"", code=0):
        """What the command writes to stdout; of a mistake what it writes to stderr."""
        streams = Streams(io.BytesIO(stdin), io.BytesIO())
        assert run_command(list(map(str, arguments)), streams) == code
        return streams.output.getvalue().decode() if code == 0 else capsys.readouterr().err

    return output


def test_predict_prob_answers_each_line_with_six_digits(model_path, output, tmp_path):
    labels, values = fasttext.load_model(model_path).predict("the of", k=2)
    expected = " ".join(f"{label} {value:.6g}" for label, value in zip(labels, values, strict=True))
    stdin = b"the of\n\nthe of\nthe of"
    lines = output("predict-prob", model_path, "-", 2, stdin=stdin).split("\n")
    assert (lines[0], lines[2], lines[3], lines[4:]) == (expected, expected, expected, [""])
    (tmp_path / "in.txt").write_bytes(stdin)
    assert output("predict-prob", model_path, tmp_path / "in.txt", 2).split("\n") == lines
    assert output("predict", model_path, "-", 2, stdin=b"the of\n") == " ".join(labels) + "\n"
    assert output("predict", model_path, "-", 5, 0.99999, stdin=b"caf\xe9 the\n").count("__label__") <= 1
    assert output("predict", model_path, "-", stdin=b"") == ""


@pytest.mark.slow
def test_a_program_asks_line_by_line_and_is_answered_at_once(model_path):
    """As LanguageTool does: the next line is sent when the answer to the one before has arrived."""
    command = [sys.executable, "-m", "unnaive.interop.fasttext.command", "predict-prob", model_path, "-", "3"]
    expected = fasttext.load_model(model_path).predict("je da", k=3)[0]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        for _ in range(3):
            running.stdin.write(b"je da\n")
            running.stdin.flush()
            assert tuple(running.stdout.readline().decode().split()[::2]) == expected
        running.stdin.close()
        assert running.stdout.read() == b""
    assert running.returncode == 0


def test_test_prints_documents_precision_and_recall(output, tmp_path):
    train, name = tmp_path / "train.txt", tmp_path / "own"
    train.write_text(LINES)
    assert output("supervised", "-input", train, "-output", name, "-wordNgrams", 2, "-thread", 1) == ""
    assert output("test", f"{name}.bin", train) == "N\t18\nP@1\t1\nR@1\t1\n"
    assert output("test", f"{name}.bin", train, 2) == "N\t18\nP@2\t0.5\nR@2\t1\n"
    labels = output("test-label", f"{name}.bin", train).splitlines()
    assert labels[1] == "F1-Score : 1.000000  Precision : 1.000000  Recall : 1.000000   __label__sport"
    assert labels[2:] == ["N\t18", "P@1\t1.000", "R@1\t1.000"]
    assert output("predict", f"{name}.bin", "-", stdin=b"a good ball\n") == "__label__sport\n"
    assert output("quantize", "-output", name) == ""
    assert fasttext.load_model(f"{name}.ftz").is_quantized()


def test_vectors_and_neighbours(model_path, output):
    vector = fasttext.load_model(model_path).get_word_vector("of")
    shown = " ".join(f"{value:.5g}" for value in vector)
    assert output("print-word-vectors", model_path, stdin=b"of of\n") == f"of {shown} \n" * 2
    sentence = fasttext.load_model(model_path).get_sentence_vector("of the")
    assert output("print-sentence-vectors", model_path, stdin=b"of the\n") == (
        " ".join(f"{value:.5g}" for value in sentence) + " \n"
    )
    assert len(output("nn", model_path, 3, stdin=b"of\n").splitlines()) == 3


def test_mistakes_are_one_sentence_and_code_2(model_path, output, tmp_path):
    (tmp_path / "train.txt").write_text(LINES)
    (tmp_path / "x.bin").write_text("no model\n")
    for arguments, match in (
        (["skipgram", "-input", "x"], "there is no command 'skipgram' here, only predict"),
        (["predict", model_path], "takes MODEL FILE"),
        (["predict", model_path, "none.txt"], "none.txt cannot be opened"),
        (["predict", "none.bin", "-"], "no file or folder called none.bin"),
        (["predict", tmp_path / "x.bin", "-"], "x.bin"),
        (["predict", model_path, "-", "two"], "K is 'two'; give a whole number"),
        (["predict", model_path, "-", 0], "K is 0"),
        (["predict", model_path, "-", 1, "high"], "THRESHOLD is 'high'; give a number"),
        (["test", model_path, tmp_path], "cannot be opened for testing"),
        (["supervised", "-input", "x"], "needs -input FILE and -output NAME"),
        (["supervised", "input", "x"], "'input' stands where an option"),
        (["supervised", "-input"], "the option -input has no value"),
        (["supervised", "-input", tmp_path / "train.txt", "-output", "o", "-lrr", 1], "has no option -lrr; it has"),
        (["supervised", "-input", tmp_path / "train.txt", "-output", "o", "-dim", "ten"], "-dim is 'ten'"),
        (["supervised", "-input", tmp_path / "train.txt", "-output", tmp_path / "no" / "o"], "cannot be written"),
        (["supervised", "-input", tmp_path / "train.txt", "-output", tmp_path / "x"], "exists and is not a model"),
        (["quantize"], "quantize needs -output"),
        (["nn", model_path, "many"], "K is 'many'"),
    ):
        error = output(*arguments, code=2)
        assert error.startswith("fasttext: ")
        assert match in error
        assert error.count("\n") == 1
    assert output(code=2).startswith("usage: fasttext <command> <args>")
    assert all(name in output(code=2) for name in COMMANDS)


def test_a_note_about_an_option_goes_to_stderr(output, tmp_path, capsys):
    (tmp_path / "train.txt").write_text(LINES)
    given = ("-input", tmp_path / "train.txt", "-output", tmp_path / "o", "-lr", 0.5, "-autotune-duration", 300)
    assert output("supervised", *given) == ""
    assert capsys.readouterr().err == (
        "fasttext: the models of unnaive are fitted to their optimum and have no lr; leave that out\n"
    )
