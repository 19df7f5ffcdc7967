"""The Python of the pages in docs/ runs, and what it prints is what a comment beside it says."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_on_networks_runs(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "networks.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    shown = capsys.readouterr().out
    assert shown.startswith("('tariff', 'vessel', 'trade')\nnetwork unnaive {")
    assert "[[0.25 0.75]]" in shown
    assert "'CMDL'" in shown
