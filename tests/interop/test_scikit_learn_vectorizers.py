"""scikit-learn's own tests of its vectorizers, with our classes in the place of theirs."""

import inspect

import pytest
from support.scikit_learn_suite import suite_cases

import unnaive
from unnaive.text.backend import BACKEND

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")
OURS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
UNLIKE = {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "given"),
    suite_cases("feature_extraction/tests/test_text.py", {name: getattr(unnaive, name) for name in OURS}, UNLIKE),
)
def test_of_scikit_learn(function, given, request):
    for name in inspect.signature(function).parameters:
        if name not in given:
            given = {**given, name: 42 if name == "global_random_seed" else request.getfixturevalue(name)}
    function(**given)
