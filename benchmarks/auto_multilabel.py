"""`auto` on multilabel documents with its default decision, from raw text: Reuters-90, ModApte split.

python benchmarks/auto_multilabel.py

Targets on the test part: micro F1 at least .88, macro F1 at least .60 (mean over all 90 topics, rare ones too). Seconds
are processor time, from raw text to a model.
"""

from timing import timed

from unnaive import TextClassifier
from unnaive.evaluation.evaluate import evaluate
from unnaive.papers.collections import load

LEAST = {"micro-f1": 0.88, "macro-f1": 0.60}


def main():
    corpus = load("reuters")
    train, test = corpus.part("train"), corpus.part("test")
    found = {}
    seconds = timed(lambda: found.update(model=TextClassifier().fit(train.texts, train.labels)))[1]
    result = evaluate(found["model"], test.texts, test.labels)
    print(f"{len(train):,} training and {len(test):,} test documents, {len(corpus.classes)} topics; {seconds:.1f} s")
    for name, least in LEAST.items():
        value = result.measures[name]
        print(f"{name} {value:.4f}, wanted {least:.2f}{'' if value >= least else '  NOT MET'}")
    sets = next(one for one in result.coverage(0.9) if not one.by_class)
    print(
        f"90 % sets hold all topics of {100 * sets.coverage:.1f} % of the documents; {sets.mean_size:.2f} topics each"
    )


if __name__ == "__main__":
    main()
