"""Records with fields: our models and a ColumnTransformer of scikit-learn on five tables, accuracy and processor time.

python benchmarks/fields_accuracy.py [TABLE …] [--models nbsvm auto-fast auto] [--peers svm logistic] [--vega FOLDER]
    [--keep FOLDER] [--json FILE]

The peers have, for each text, tf-idf of words and pairs with sublinear counts; one column for each category, year,
month, weekday and hour; the logarithm of each number standardised, and the number in ten bins; and LinearSVC or
LogisticRegression, whose C is chosen among six on a held-out fifth of the training part: their time includes the
choice, as the time of auto includes its search. On 20 Newsgroups they have three values of C, and the terms that two
records have. Tables: 20 Newsgroups (subject, body, organisation, number of lines), R8 (title, body, date), Ohsumed
(title, abstract), and of the npm package vega-datasets, whose folder `data` is --vega or UNNAIVE_VEGA, movies (→ genre)
and birdstrikes (→ size of the animal). The difference has a paired interval of 95 %: of the documents that only one of
two models gets right. Times are processor time, reading aside, in one process and one run.
"""

import argparse
import csv
import json
import os
import re
import tarfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from unnaive import TextClassifier
from unnaive.data.fields.numbers_and_dates import parse_date, read_number
from unnaive.papers.collections import load

STRENGTHS = {"svm": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), "logistic": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)}
LARGE = 10_000  # training records from which the peers get fewer values of C and no terms of one record
STRENGTHS_IF_LARGE = {"svm": (0.1, 0.3, 1.0), "logistic": (1.0, 5.0, 25.0)}
SHARE = 0.3  # of a table without a split of its own that is tested on


def newsgroups(_):
    """Usenet messages by their headers."""
    corpus = load("20newsgroups")
    return corpus_table(
        corpus,
        [message_fields(text) for text in corpus.texts],
        {"subject": "text", "body": "text", "organisation": "category", "lines": "number"},
    )


def message_fields(text):
    """Subject, organisation, number of lines and body of a message."""
    head, _, body = text.partition("\n\n")
    lines = re.sub(r"\n[ \t]+", " ", head).split("\n")
    values = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {
        "subject": values.get("subject", ""), "body": body, "organisation": values.get("organization"),
        "lines": values.get("lines") if values.get("lines", "").isdigit() else None,
    }  # fmt: skip


def r8(_):
    """Newswire stories: the first line is the title."""
    corpus = load("reuters", view="r8")
    dates = {}
    with tarfile.open(Path(os.environ["UNNAIVE_DATA"]) / "reuters21578.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(".sgm"):
                content = archive.extractfile(member).read().decode("latin-1")
                dates |= dict(re.findall(r'NEWID="(\d+)">\s*<DATE>\s*(.*?)</DATE>', content))
    records = [
        dict(zip(("title", "body"), text.partition("\n")[::2], strict=True)) | {"date": dates[name].strip()}
        for text, name in zip(corpus.texts, corpus.ids, strict=True)
    ]
    return corpus_table(corpus, records, {"title": "text", "body": "text", "date": "date"})


def ohsumed(_):
    """Medical abstracts: the first line is the title."""
    corpus = load("ohsumed")
    records = [dict(zip(("title", "abstract"), text.partition("\n")[::2], strict=True)) for text in corpus.texts]
    return corpus_table(corpus, records, {"title": "text", "abstract": "text"})


def movies(folder):
    """Films to their genre."""
    rows = json.loads((folder / "movies.json").read_text(encoding="utf-8"))
    rows = [row | {"Title": str(row["Title"])} for row in rows if row["Major Genre"]]
    kinds = {
        "Title": "text", "MPAA Rating": "category", "Distributor": "category", "Source": "category",
        "Creative Type": "category", "Director": "category", "US Gross": "number", "Worldwide Gross": "number",
        "Production Budget": "number", "Running Time min": "number", "Rotten Tomatoes Rating": "number",
        "IMDB Rating": "number", "IMDB Votes": "number", "Release Date": "date",
    }  # fmt: skip
    return random_table([row | {"Release Date": known_date(row["Release Date"])} for row in rows], "Major Genre", kinds)


def known_date(value):
    """A date, or None for a year alone and the like."""
    return value if parse_date(value) else None


def birdstrikes(folder):
    """Strikes of aircraft and animals to the size of the animal."""
    with (folder / "birdstrikes.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Wildlife Size"]]
    kinds = {
        "Airport Name": "text", "Aircraft Make Model": "category", "Effect Amount of damage": "category",
        "Aircraft Airline Operator": "category", "Origin State": "category", "Phase of flight": "category",
        "Time of day": "category", "Cost Other": "number", "Cost Repair": "number", "Cost Total $": "number",
        "Speed IAS in knots": "number", "Flight Date": "date",
    }  # fmt: skip
    return random_table(rows, "Wildlife Size", kinds)


def corpus_table(corpus, records, kinds):
    """(records, labels, which are for training, kinds) of a collection with a split."""
    labels = np.array([names[0] for names in corpus.labels])
    return np.array(records, object), labels, np.array(corpus.split) == "train", kinds


def random_table(rows, label, kinds):
    """The same of rows without a split; classes of fewer than ten are left out."""
    labels = np.array([row[label] for row in rows])
    names, sizes = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[sizes >= 10])
    records = np.array([{name: row[name] for name in kinds} for row in rows], object)[kept]
    return records, labels[kept], np.random.default_rng(0).random(int(kept.sum())) >= SHARE, kinds


TABLES = {"20newsgroups": newsgroups, "r8": r8, "ohsumed": ohsumed, "movies": movies, "birdstrikes": birdstrikes}


def predict_ours(model, train, labels, test, kinds):
    """Labels of the test records."""
    settings = {"auto": {}, "auto-fast": {"budget": "fast"}}.get(model, {"ngrams": (1, 2)})
    return (
        TextClassifier(model.removesuffix("-fast"), fields=kinds, n_jobs=1, **settings)
        .fit(list(train), labels)
        .predict(list(test))
    )


def predict_peer(peer, train, labels, test, kinds):
    """Labels by the pipeline of scikit-learn."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
    from sklearn.svm import LinearSVC

    frames = [pd.DataFrame(peer_columns(part, kinds)) for part in (train, test)]
    large = len(train) >= LARGE
    features = column_transformer(kinds, min_df=2 if large else 1)
    rows = features.fit_transform(frames[0])
    model = LinearSVC() if peer == "svm" else LogisticRegression(tol=1e-3, max_iter=300)
    held_out = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
    search = GridSearchCV(model, {"C": (STRENGTHS_IF_LARGE if large else STRENGTHS)[peer]}, cv=held_out)
    search.fit(rows, labels)
    return search.predict(features.transform(frames[1]))


def peer_columns(records, kinds):
    """Columns as the pipeline takes them: strings, floats, and the parts of dates as strings."""
    columns = {}
    for name, kind in kinds.items():
        values = [record[name] for record in records]
        if kind == "number":
            columns[name] = [read_number(value) if value not in (None, "") else np.nan for value in values]
        elif kind == "date":
            moments = [parse_date(value) for value in values]
            for part in ("year", "month", "weekday", "hour"):
                columns[f"{name} {part}"] = ["" if one is None else date_part(one[0], part) for one in moments]
        else:
            columns[name] = ["" if value is None else str(value) for value in values]
    return columns


def date_part(moment, part):
    """The year, month, weekday or hour of a date."""
    return str(moment.weekday() if part == "weekday" else getattr(moment, part))


def column_transformer(kinds, min_df):
    """The usual pipeline of scikit-learn for such tables."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler

    steps = []
    for name, kind in kinds.items():
        if kind == "text":
            steps.append((name, TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=min_df), name))
        elif kind == "number":
            bins = KBinsDiscretizer(10, quantile_method="averaged_inverted_cdf")
            scaled = make_union(make_pipeline(FunctionTransformer(signed_logarithm), StandardScaler()), bins)
            steps.append((name, make_pipeline(SimpleImputer(strategy="median", add_indicator=True), scaled), [name]))
        else:
            parts = [f"{name} {part}" for part in ("year", "month", "weekday", "hour")] if kind == "date" else [name]
            steps.append((name, OneHotEncoder(handle_unknown="ignore"), parts))
    return ColumnTransformer(steps)


def signed_logarithm(values):
    """sign(x) log(1 + |x|)."""
    return np.sign(values) * np.log1p(np.abs(values))


def paired_interval(ours, theirs):
    """(difference of accuracies, half of its interval of 95 %), given who is right where."""
    better, worse, n = int((ours & ~theirs).sum()), int((~ours & theirs).sum()), len(ours)
    difference = (better - worse) / n
    return difference, 1.96 * np.sqrt(max((better + worse) / n - difference**2, 0) / n)


def compare(name, models, peers, folder, kept=None):
    """The rows of one table; each of our models is compared with each peer. Results in `kept` are not made again."""
    records, labels, train, kinds = TABLES[name](folder)
    data = records[train], labels[train], records[~train], kinds
    theirs = {}
    for peer in peers:
        right, seconds = measure(predict_peer, peer, data, labels[~train], kept and kept / f"{name}-{peer}.npz")
        theirs[peer] = right, seconds
        yield {"table": name, "model": peer, "accuracy": float(right.mean()), "seconds": seconds}
    for model in models:
        right, seconds = measure(predict_ours, model, data, labels[~train], kept and kept / f"{name}-{model}.npz")
        row = {"table": name, "model": model, "accuracy": float(right.mean()), "seconds": seconds, "against": {}}
        for peer, (others, took) in theirs.items():
            difference, half = paired_interval(right, others)
            row["against"][peer] = {"difference": difference, "half": half, "share of time": seconds / took}
        yield row


def measure(predict, model, data, truth, kept=None):
    """(which test records are right, seconds of the processor); from the file `kept` if it exists."""
    if kept is not None and kept.exists():
        found = np.load(kept)
        return found["right"], float(found["seconds"])
    start = time.process_time()
    right = predict(model, *data) == truth
    seconds = time.process_time() - start
    if kept is not None:
        np.savez(kept, right=right, seconds=seconds)
    return right, seconds


def main():
    """Print a line for each table and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--models", nargs="*", default=["nbsvm", "auto-fast", "auto"])
    parser.add_argument("--peers", nargs="*", default=["svm", "logistic"])
    parser.add_argument("--vega", default=os.environ.get("UNNAIVE_VEGA"))
    parser.add_argument("--json")
    parser.add_argument("--keep", type=Path, help="folder for the results of each model, by which a run goes on")
    arguments = parser.parse_args()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    found = []
    for name in arguments.tables or TABLES:
        if name in ("movies", "birdstrikes") and arguments.vega is None:
            print(f"{name}: left out; name the folder data of the npm package vega-datasets with --vega")
            continue
        for row in compare(
            name, arguments.models, arguments.peers, arguments.vega and Path(arguments.vega), arguments.keep
        ):
            found.append(row)
            more = "; ".join(
                f"{peer} {one['difference']:+.4f} ± {one['half']:.4f} at {one['share of time']:.2f} of its time"
                for peer, one in row.get("against", {}).items()
            )
            print(f"{name:14}{row['model']:12}{row['accuracy']:.4f} {row['seconds']:8.1f} s  {more}", flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
