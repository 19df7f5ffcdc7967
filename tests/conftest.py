"""What tests of several modules share."""

import pytest


@pytest.fixture
def complaints():
    """stderr of a command without the note that a build without a compiler gives once."""

    def complaints(stderr):
        return "".join(line for line in stderr.splitlines(keepends=True) if "without a compiler" not in line)

    return complaints
