"""The tests in this folder are slow and need the benchmark collections."""

from pathlib import Path

import pytest

from unnaive.papers.collections import data_folder

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if data_folder() is None:
                item.add_marker(pytest.mark.skip(reason="the benchmark collections are not here; set UNNAIVE_DATA"))
