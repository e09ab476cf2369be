"""docs/algorithms.md is what the classes and the suite say now."""

import os
import subprocess
import sys

import pytest
from hooke.algorithms.sgd import SGD
from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.page import page

from tests.engine.contract import document, suite
from tests.engine.contract.conftest import ROOT, search_path


def test_the_page_is_current():
    command = [sys.executable, "-m", document.__name__, "--check"]
    environment = os.environ | {"PYTHONPATH": search_path(), suite.ONLY: ""}
    ended = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, (
        f"run `make algorithms`: docs/algorithms.md is not what the classes say\n{ended.stderr}"
    )


class Silent(Algorithm):
    """Silent.

    x = x

    It claims nothing.
    """

    def run(self, r):
        """Do nothing."""


def test_what_nobody_claims_is_called_not_verified():
    text = page({"silent": Silent}, {("silent", "P24"): {"virtual": {3}}})
    assert "| P24: 3, 5 and 6 workers" in text
    missing = text[text.index("**Not verified**") :]
    assert all(key in missing for key in ("equations (", "pinned (", "P17 (", "P19 (", "I1 ("))
    assert "| [`silent`](#silent) | Silent | P | not declared |" in text
    assert "**Other**" in text


def test_the_page_has_a_meaning_for_everything_that_is_verified():
    with pytest.raises(ValueError, match="P99"):
        page({"sgd": SGD}, {("sgd", "P99"): {"virtual": {1}}})
