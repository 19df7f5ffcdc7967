"""What changing an `auto` model costs: train, update and forget 20 messages of 20 Newsgroups, on all cores.

python benchmarks/auto_update.py [--model FILE]

The model is trained on the training part (11,314 messages) by `unnaive train` and changed by `unnaive update` and
`unnaive forget`; seconds are those of a watch around the commands. After both the file is what it was, byte for byte.
With --model a file that was trained so is taken, and training is left out.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import show_figure, timed

from unnaive.classifier.model_file import documents_bytes
from unnaive.io.collections import load

N_MESSAGES = 20


def write_messages(path, corpus, most=None):
    texts, labels = list(corpus.texts)[:most], list(corpus.labels)[:most]
    lines = [json.dumps({"text": text, "label": label[0]}) for text, label in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(*words):
    return timed(lambda: subprocess.run([sys.executable, "-m", "unnaive", *map(str, words), "-q"], check=True))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path)
    given = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        model, changed, messages = (Path(folder) / name for name in ("a.model", "b.model", "messages.jsonl"))
        collection = load("20newsgroups")
        if given is None:
            write_messages(messages, collection.part("train"))
            print(f"train   {run('train', messages, '-o', model):5.1f} s")
        else:
            shutil.copy(given, model)
        write_messages(messages, collection.part("test"), N_MESSAGES)
        shutil.copy(model, changed)
        show_figure("update, seconds", run("update", changed, messages), 10.0)
        show_figure("forget, seconds", run("forget", changed, messages), 10.0)
        assert changed.read_bytes() == model.read_bytes()
        show_figure("counted documents in the file, MB", documents_bytes(model) / 1e6, 10.0)


if __name__ == "__main__":
    main()
