"""What tests of several modules share."""

import pytest
from hypothesis import HealthCheck, settings

from unnaive.base.errors import MissingExtra

# no test fails because the machine was busy
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# `make quick`; `make test` runs all property tests once more
settings.register_profile("quick", settings.get_profile("unhurried"), max_examples=20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Without PyStemmer, which not every interpreter without a GIL can have, tests of stems are skipped."""
    try:
        return (yield)
    except MissingExtra as problem:
        if "PyStemmer" in str(problem):
            pytest.skip(str(problem))
        raise


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """Commands that remember something between runs do so in a folder of the tests, not in that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def complaints():
    """stderr of a command without the note that a build without a compiler gives once."""

    def complaints(stderr):
        return "".join(line for line in stderr.splitlines(keepends=True) if "without a compiler" not in line)

    return complaints


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command line in an empty folder; its exit code, stdout and stderr."""
    from unnaive.apps.cli.main import exit_code
    from unnaive.apps.common import progress_bar

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_bar, "LINE_EVERY", 3600.0)  # what is shown is compared, on slow machines too

    def run(*arguments):
        code = exit_code([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run
