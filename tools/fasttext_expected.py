"""Write what fastText itself answers for the small models of tests/support/fasttext_files.py.

    python tools/fasttext_expected.py > tests/models/fasttext_expected.json

Needs fastText (pip install 'unnaive[bench]'), which the tests do not: they compare with the file that this writes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fasttext_files import KINDS, TEXTS, write_fasttext


def answers(path: Path) -> list[list[object]]:
    """For every text the best label, and the three best with their probabilities, rounded to what 32 bits hold.

    The first of three need not be the best alone: fastText's heap leaves equal ones in an order of its own.
    """
    import fasttext

    model = fasttext.load_model(str(path))
    rows = []
    for text in TEXTS:
        found = model.f.predict(f"{text}\n", 3, 0.0, "strict")
        best = [label for _, label in model.f.predict(f"{text}\n", 1, 0.0, "strict")]
        rows.append([best, [[label, float(f"{value:.9g}")] for value, label in found]])
    return rows


def main() -> None:
    """Print all answers as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        expected = {}
        for name, parts in KINDS.items():
            path.write_bytes(write_fasttext(parts))
            expected[name] = answers(path)
    print(json.dumps(expected, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
