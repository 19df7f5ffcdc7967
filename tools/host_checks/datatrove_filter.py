"""datatrove's FastTextClassifierFilter and its language identification with the module `fasttext` that is installed.

    python datatrove_filter.py ORIGINAL

ORIGINAL is a folder with fastText's own module. It trains a classifier; the filter runs once with it and once with the
installed module, and everything that it does to the documents must be the same.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = """
import sys, fasttext
fasttext.FastText.eprint = lambda line: None
options = dict(thread=1, epoch=30, lr=0.5, minn=2, maxn=4, bucket=5000, verbose=0)
fasttext.train_supervised(sys.argv[1], **options).save_model(sys.argv[2])
"""
WORDS = {"math": "integral proof lemma theorem sum", "sport": "ball goal team match referee", "law": "court vote judge"}


def documents():
    """Texts of one or two topics, some of several paragraphs."""
    topics = list(WORDS)
    for number in range(60):
        first, second = topics[number % 3], topics[(number // 3) % 3]
        parts = [" ".join(WORDS[topic].split()[number % 3 :] * 2) for topic in (first, second)]
        yield ("\n" if number % 2 else " ").join(parts) + f" w{number % 7} ğüş हिन्दी"


def run_filter(model):
    """What the filter does, as JSON: for each form, which documents stay, their texts and their scores."""
    from datatrove.data import Document
    from datatrove.pipeline.filters.fasttext_filter import FastTextClassifierFilter
    from datatrove.utils.lid import FastTextLID
    from datatrove.utils.text import SPLIT_TEXT_PARAGRAPHS

    forms = {
        "keep": {"keep_labels": ("math", 0.5)},
        "keep several": {"keep_labels": [("math", 0.3), ("law", 0.9)]},
        "remove": {"remove_labels": ("math", 0.5)},
        "paragraphs": {"keep_labels": ("sport", 0.5), "filter_mode": SPLIT_TEXT_PARAGRAPHS},
    }
    found = {}
    for name, options in forms.items():
        step = FastTextClassifierFilter(model, **options)
        rows = []
        for number, text in enumerate(documents()):
            document = Document(text=text, id=str(number))
            kept = bool(step.filter(document))
            rows.append([kept, document.text, {label: round(p, 5) for label, p in document.metadata.items()}])
        found[name] = rows
    lid = type("Lid", (FastTextLID,), {"MODEL_URL": model, "MODEL_SUBFOLDER": "own"})(["math", "law"])
    best, scores = lid.predict(Document(text="integral\nproof", id="0"))
    found["language identification"] = [best[0], round(best[1], 5), {label: round(p, 5) for label, p in scores.items()}]
    print(json.dumps(found))


def main(original):
    """Print how many of the forms agree; 0 if all do."""
    folder = Path(tempfile.mkdtemp())
    lines = [f"__label__{topic} {word} {words}" for topic, words in WORDS.items() for word in words.split()]
    (folder / "train.txt").write_text("\n".join(lines * 5) + "\n", encoding="utf-8")
    original_path = {**os.environ, "PYTHONPATH": str(Path(original).resolve()), "MALLOC_PERTURB_": "255"}
    model = str(folder / "model.bin")
    subprocess.run([sys.executable, "-c", TRAIN, str(folder / "train.txt"), model], env=original_path, check=True)
    answers = []
    for environment in (original_path, None):
        command = [sys.executable, __file__, "--filter", model]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        answers.append(json.loads(finished.stdout.splitlines()[-1]))
    theirs, ours = answers
    same = [name for name in theirs if theirs[name] == ours[name]]
    kept = sum(kept for kept, _, _ in ours["keep"])
    print(f"datatrove: {len(same)} of {len(theirs)} forms as with fastText ({kept} of 60 documents kept by the first)")
    for name in theirs.keys() - set(same):
        print(f"  differs: {name}")
    return int(len(same) < len(theirs))


if __name__ == "__main__":
    sys.exit(run_filter(sys.argv[2]) if sys.argv[1] == "--filter" else main(sys.argv[1]))
