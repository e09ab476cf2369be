"""A missing program skips loudly, and fails where HOOKE_REQUIRE names it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
TEST = """
import pytest

@pytest.mark.needs("hooke-no-such-program")
def test_it():
    pass

@pytest.mark.needs("sh")
def test_there():
    pass
"""


@pytest.mark.parametrize(
    "require, outcome",
    [
        ("", "1 passed, 1 skipped"),
        ("redis", "1 passed, 1 skipped"),
        ("redis, hooke-no-such-program", "1 passed, 1 error"),
    ],
)
def test_required_programs(tmp_path, require, outcome):
    folder = tmp_path / "tests"
    folder.mkdir()
    shutil.copy(CONFTEST, folder)
    (folder / "test_needs.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = needs(program): ...\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path,
        env=os.environ | {"HOOKE_REQUIRE": require, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome in done.stdout, done.stdout
    assert "'hooke-no-such-program' is not installed" in done.stdout
    assert done.returncode == (1 if "error" in outcome else 0)
