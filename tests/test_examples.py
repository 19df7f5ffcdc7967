"""Every script of examples/ runs, is short, and is shown in docs/gallery.md with what it prints."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("gallery", ROOT / "tools" / "gallery.py")
gallery = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gallery)
TITLES = {name: title for title, name in gallery.ORDER}


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.stem)
def test_the_gallery_shows_the_example_and_what_it_prints(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 30
    part = gallery.render_example(TITLES[script.stem], script, gallery.run_example(script))
    assert part in gallery.PLACE.read_text(encoding="utf-8"), "run: python tools/gallery.py"
