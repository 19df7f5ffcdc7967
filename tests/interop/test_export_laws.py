"""Every model × every token rule × all scripts: js and c agree with Python on 100,000 drawn texts each."""

import shutil

import pytest
from support.exports import (
    COMPILER,
    MODELS,
    MULTILABEL,
    RULES,
    build_c_program,
    drawn_texts,
    fitted_case,
    run_c_program,
)

from unnaive.interop.export.conformance import conformance_lines
from unnaive.interop.export.javascript import check_javascript, write_javascript
from unnaive.interop.export.portable import portable_model

CELLS = [(model, rule) for rule in RULES for model in (*MODELS, *MULTILABEL)]
TEXTS = -(-100_000 // len(CELLS))  # of each cell
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built")) if COMPILER else None


@pytest.mark.parametrize("rule", RULES)
def test_a_hundred_thousand_drawn_texts(rule, program, tmp_path):
    if program is None and shutil.which("node") is None:
        pytest.skip("there is neither a C compiler nor Node.js on this machine")
    agreements = []
    for number, (model, _) in enumerate(cell for cell in CELLS if cell[1] == rule):
        fitted = fitted_case(model, rule)
        lines = conformance_lines(fitted, drawn_texts(fitted, TEXTS, seed=1000 + number))
        if program is not None:
            agreements.append((model, run_c_program(program, fitted, lines, tmp_path)))
        if shutil.which("node"):
            (tmp_path / "model.js").write_bytes(write_javascript(portable_model(fitted))["model.js"])
            agreements += [(model, found) for found in check_javascript(tmp_path, lines)]
    assert {found.texts for _, found in agreements} == {TEXTS}
    assert [(model, found.sentence(), found.example) for model, found in agreements if not found.good] == []
