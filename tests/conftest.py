"""What tests of several modules share."""

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=20)  # `make quick`; `make test` runs all property tests once more


@pytest.fixture
def complaints():
    """stderr of a command without the note that a build without a compiler gives once."""

    def complaints(stderr):
        return "".join(line for line in stderr.splitlines(keepends=True) if "without a compiler" not in line)

    return complaints
