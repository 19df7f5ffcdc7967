"""Writes docs/gallery.md: every script of examples/, and what it prints."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "gallery.md"
ORDER = (  # from the first step on; title and script
    ("A first classifier", "first_classifier"), ("Several labels for a document", "several_labels"),
    ("Which words decided", "why"), ("Which model?", "which_model"), ("When the model is unsure", "unsure"),
    ("Forgetting", "forgetting"), ("In a scikit-learn pipeline", "in_a_pipeline"),
    ("Languages, mail and HTML", "languages"),
)  # fmt: skip


def run_example(script: Path) -> str:
    """What the script prints."""
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout


def render_example(title: str, script: Path, printed: str) -> str:
    """The part of the page on one script: its opening sentence, its code, and what it prints."""
    source = script.read_text(encoding="utf-8")
    sentence = ast.get_docstring(ast.parse(source)) or ""
    code = source.split('"""', 2)[2].strip()
    return f"## {title}\n\n{sentence}\n\n```python\n{code}\n```\n\n```text\n{printed.rstrip()}\n```\n"


def main() -> None:
    """Run every example and write the page."""
    parts = ["# Examples\n\nShort scripts that run as they are, from `examples/`; below each, what it prints.\n"]
    for title, name in ORDER:
        script = ROOT / "examples" / f"{name}.py"
        parts.append(render_example(title, script, run_example(script)))
    PLACE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
