"""What pytest leaves out: modules that need an extra that is not installed, and what `make quick` need not import."""

import re
from importlib.util import find_spec

collect_ignore = ["tests/scaleout/spark_connect.py", "tests/scaleout/spark_failures.py"]  # scripts
if not find_spec("pyspark"):
    collect_ignore += ["src/unnaive/scaleout/spark/pipelines.py"]
if not (find_spec("datatrove") and find_spec("regex")):  # its filters need the second
    collect_ignore += ["src/unnaive/datatrove.py", "src/unnaive/scaleout/datatrove_filter.py"]
ALL_SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Files whose tests are all slow are not even imported where slow tests are left out."""
    if config.option.markexpr == "not slow" and collection_path.name.startswith("test_"):
        return bool(ALL_SLOW.search(collection_path.read_text(encoding="utf-8"))) or None
    return None
