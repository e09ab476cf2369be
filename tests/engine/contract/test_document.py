"""docs/algorithms.md is what the docstrings and the suite say now."""

import os
import subprocess
import sys

from tests.engine.contract import document
from tests.engine.contract.conftest import ROOT


def test_the_document_is_current():
    kept = (ROOT / "docs" / "algorithms.md").read_text()
    made = subprocess.run(
        [sys.executable, "-m", document.__name__],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert kept == made.stdout, f"run: python -m {document.__name__} > docs/algorithms.md"
