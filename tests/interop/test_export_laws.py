"""Every model × token rules drawn from the declarations × all scripts: js and c agree with Python on 100,000 texts."""

import shutil
from random import Random

import pytest
from support.exports import (
    COMPILER,
    MODELS,
    MULTILABEL,
    build_c_program,
    drawn_rule,
    drawn_texts,
    fitted_rule,
    run_c_program,
)

from unnaive.interop.export.conformance import conformance_lines
from unnaive.interop.export.javascript import check_javascript, write_javascript
from unnaive.interop.export.portable import portable_model
from unnaive.text.token_rule import OPTIONS

N_RULES = 8
RULES = [drawn_rule(("js", "c"), Random(seed)) for seed in range(N_RULES)]
TEXTS = -(-100_000 // (N_RULES * len((*MODELS, *MULTILABEL))))  # of each model and rule


def test_the_drawn_rules_try_every_option_that_is_carried():
    tried = {name for rule in RULES for name, value in rule.items() if value != OPTIONS[name].default}
    assert tried == {name for name, declared in OPTIONS.items() if {"js", "c"} <= set(declared.exports)} - {"fields"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built")) if COMPILER else None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_RULES))
def test_a_hundred_thousand_drawn_texts(seed, program, tmp_path):
    if program is None and shutil.which("node") is None:
        pytest.skip("there is neither a C compiler nor Node.js on this machine")
    agreements = []
    for number, model in enumerate((*MODELS, *MULTILABEL)):
        fitted = fitted_rule(model, RULES[seed])
        lines = conformance_lines(fitted, drawn_texts(fitted, TEXTS, seed=1000 + number))
        if program is not None:
            agreements.append((model, run_c_program(program, fitted, lines, tmp_path)))
        if shutil.which("node"):
            (tmp_path / "model.js").write_bytes(write_javascript(portable_model(fitted, "js"))["model.js"])
            agreements += [(model, found) for found in check_javascript(tmp_path, lines)]
    assert {found.texts for _, found in agreements} == {TEXTS}
    assert [(model, found.sentence(), found.example) for model, found in agreements if not found.good] == []
