"""Every script of examples/ runs, is short, and is in docs/gallery.md and in a notebook with what it prints."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("gallery", ROOT / "tools" / "gallery.py")
gallery = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gallery)
TITLES = {name: title for title, name in gallery.ORDER}
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def read_notebook(script):
    return json.loads((gallery.FOLDER / f"{script.stem}.ipynb").read_text(encoding="utf-8"))


def without_pictures(notebook):
    """The notebook with nothing in the place of pictures, which differ with the version of matplotlib."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("image/svg+xml", None)
    return notebook


def test_there_are_sixteen_examples():
    assert {script.stem for script in SCRIPTS} == set(TITLES)
    assert len(SCRIPTS) == 16


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_notebook_has_the_code_of_the_script_and_was_executed(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 60
    opening, *cells = read_notebook(script)["cells"]
    assert opening["source"] == [f"# {TITLES[script.stem]}\n", "\n", gallery.opening_sentence(script)]
    code = gallery.split_cells(script.read_text(encoding="utf-8"))
    assert ["".join(cell["source"]) for cell in cells] == code, "run: python tools/gallery.py"
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(code) + 1))
    pictures = [output["data"]["image/svg+xml"] for cell in cells for output in cell["outputs"] if "data" in output]
    assert ["".join(one) for one in pictures] == [(gallery.FOLDER / f"{script.stem}.svg").read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_gallery_shows_the_example_and_what_it_prints(script):
    title, cells = TITLES[script.stem], gallery.run_example(script)
    part = gallery.render_example(title, script, cells)
    assert part in gallery.PLACE.read_text(encoding="utf-8"), "run: python tools/gallery.py"
    assert without_pictures(read_notebook(script)) == without_pictures(gallery.make_notebook(title, script, cells))
