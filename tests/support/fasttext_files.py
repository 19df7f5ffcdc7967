"""A writer of fastText's model files, from its documented format, and small models of every kind, drawn by chance."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
WORDS = [
    "</s>", "the", "of", "to", "je", "da", "i", "ich", "und", "das", "на", "не", "и", "the,", "Je", "привет", "мир",
    "שלום", "日本", "語", "สวัสดี", "नमस्ते", "ça", "été", "ñandú", "123", "!!!", "extraordinarily",
    "internationalisation", "🙂", "ß",
]  # fmt: skip
TEXTS = (
    "", " ", "the", "je da i", "ich und das Haus", "на не и мир", "unknown words only here", "the of to the of to the",
    "привет мир привет", "שלום עולם", "日本 語 を 話す", "สวัสดี ครับ", "नमस्ते दुनिया", "ça été ñandú", "123 !!! 456",
    "extraordinarily", "internationalisation is extraordinarily long", "internationalisations", "🙂 ß 🙂",
    "the __label__c0 of", "__label__zzz the",
    "the </s> of to", "</s>", "the\tof\rto\vje\fda\0i", "a", "b a", "<the>", "é", "e\u0301", "𝔘𝔫𝔦 𝕮𝖔𝖉𝖊", "x" * 40,
    "Je je JE", "the of " * 30, "#a the #b",
)  # fmt: skip


@dataclass(frozen=True)
class FastTextParts:
    """What the file of a model is written from; matrices that are not given are drawn from `seed`."""

    loss: str = "softmax"
    words: tuple[str, ...] = tuple(WORDS)
    labels: tuple[str, ...] = tuple(f"__label__c{i}" for i in range(5))
    counts: tuple[int, ...] = ()
    dim: int = 8
    bucket: int = 0
    minn: int = 0
    maxn: int = 0
    word_ngrams: int = 1
    kept: dict[int, int] | None = None
    quantised: bool = False
    qnorm: bool = False
    qout: bool = False
    dsub: int = 2
    scale: float = 2.0
    version: int = 12
    model: int = 3
    seed: int = 0
    matrices: dict[str, Any] = field(default_factory=dict)

    def with_(self, **changes: Any) -> FastTextParts:
        """The same but for `changes`."""
        return replace(self, **changes)


def write_fasttext(parts: FastTextParts) -> bytes:
    """The bytes of the model file."""
    rng = np.random.default_rng(parts.seed)
    out = [struct.pack("<ii", 793712314, parts.version)]
    header = (parts.dim, 5, 5, 1, 5, parts.word_ngrams, LOSSES[parts.loss], parts.model, parts.bucket, parts.minn)
    out.append(struct.pack("<12id", *header, parts.maxn, 100, 1e-4))
    n_kept = -1 if parts.kept is None else len(parts.kept)
    out.append(
        struct.pack("<3i2q", len(parts.words) + len(parts.labels), len(parts.words), len(parts.labels), 999, n_kept)
    )
    counts = parts.counts or tuple(200 - 7 * i for i in range(len(parts.labels)))
    for row, word in enumerate(parts.words):
        out.append(word.encode() + b"\0" + struct.pack("<qb", 1000 - row, 0))
    for label, count in zip(parts.labels, counts, strict=True):
        out.append(label.encode() + b"\0" + struct.pack("<qb", count, 1))
    for bucket, row in (parts.kept or {}).items():
        out.append(struct.pack("<ii", bucket, row))
    grams = parts.bucket if parts.kept is None else len(parts.kept)
    out.append(struct.pack("<?", parts.quantised))
    out.append(_matrix(parts, rng, "input", len(parts.words) + grams, parts.quantised))
    out.append(struct.pack("<?", parts.qout))
    out.append(_matrix(parts, rng, "output", len(parts.labels), parts.qout))
    return b"".join(out)


def _matrix(parts: FastTextParts, rng: Any, name: str, rows: int, quantised: bool) -> bytes:
    if not quantised:
        values = parts.matrices.get(name)
        values = rng.normal(0, parts.scale, (rows, parts.dim)) if values is None else np.asarray(values)
        return struct.pack("<2q", *values.shape) + values.astype("<f4").tobytes()
    n_parts = -(-parts.dim // parts.dsub)
    last = parts.dim - (n_parts - 1) * parts.dsub
    content = struct.pack("<?2qi", parts.qnorm, rows, parts.dim, rows * n_parts)
    content += rng.integers(0, 256, rows * n_parts, dtype=np.uint8).tobytes()
    content += struct.pack("<4i", parts.dim, n_parts, parts.dsub, last)
    content += rng.normal(0, parts.scale, 256 * parts.dim).astype("<f4").tobytes()
    if parts.qnorm:
        content += rng.integers(0, 256, rows, dtype=np.uint8).tobytes() + struct.pack("<4i", 1, 1, 1, 1)
        content += rng.uniform(0.2, 2, 256).astype("<f4").tobytes()
    return content


SUBWORDS = {"bucket": 60, "minn": 2, "maxn": 4}
KEPT = {bucket: row for row, bucket in enumerate(range(1, 60, 3))}
MANY = tuple(f"__label__c{i}" for i in range(23))
# every kind of model; dimensions below the number of labels keep the factors, above it they are folded
KINDS: dict[str, FastTextParts] = {
    "softmax": FastTextParts(),
    "softmax-factors": FastTextParts(dim=3),
    "softmax-subwords": FastTextParts(**SUBWORDS, word_ngrams=2),
    "softmax-subwords-factors": FastTextParts(dim=3, **SUBWORDS, word_ngrams=3),
    "one-character": FastTextParts(bucket=50, minn=0, maxn=1),
    "ova": FastTextParts("ova", scale=6.0),
    "ova-factors": FastTextParts("ova", dim=4, scale=9.0, bucket=40, word_ngrams=2),
    "ns": FastTextParts("ns", **SUBWORDS),
    "hs": FastTextParts("hs", word_ngrams=3, bucket=30),
    "hs-factors": FastTextParts("hs", labels=MANY, counts=tuple(2 ** (i % 5) for i in range(23)), **SUBWORDS),
    "quantised": FastTextParts(dim=7, quantised=True, word_ngrams=2, bucket=30),
    "quantised-norm-factors": FastTextParts(dim=3, quantised=True, qnorm=True, **SUBWORDS),
    "pruned": FastTextParts(**SUBWORDS, word_ngrams=2, kept=KEPT, quantised=True, qnorm=True),
    "pruned-hs-factors": FastTextParts("hs", labels=MANY, **SUBWORDS, kept=KEPT, quantised=True, dsub=3),
    "pruned-to-words": FastTextParts(**SUBWORDS, kept={}, quantised=True),
    "output-quantised": FastTextParts(labels=MANY, quantised=True, qnorm=True, qout=True, **SUBWORDS),
    "output-quantised-ova": FastTextParts("ova", labels=MANY, dim=5, quantised=True, qout=True),
    "version-11": FastTextParts(version=11, **SUBWORDS),
    "other-prefix": FastTextParts(labels=("#a", "#b", "#c"), dim=2),
    "one-label": FastTextParts("hs", labels=("__label__only",)),
}  # fmt: skip
