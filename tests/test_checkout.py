"""Programs that tests start import this checkout, also where another one is installed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.checkout import ROOT, python_path


def test_a_program_imports_the_engine_of_this_checkout(tmp_path, monkeypatch):
    """Started elsewhere, with nothing set; what was set before is kept, behind it."""
    (tmp_path / "only_there.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = "import hooke, only_there, tests.checkout as t; print(hooke.__file__, t.__file__, only_there.__file__)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd="/",
        env=os.environ | {"PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    engine, test, other = map(Path, ended.stdout.split())
    assert engine.is_relative_to(ROOT / "engine")
    assert test.is_relative_to(ROOT / "tests")
    assert other.is_relative_to(tmp_path)
