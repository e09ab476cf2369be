"""docs/algorithms.md is what the classes and the suite say now."""

import os
import subprocess
import sys

import pytest
from hooke.algorithms.diloco import Diloco
from hooke.algorithms.sgd import SGD
from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.page import page
from hooke.catalogue.page_settings import words
from hooke.spec.spaces import Space

from tests.checkout import ROOT, python_path
from tests.engine.contract import document, suite


def test_the_page_is_current():
    command = [sys.executable, "-m", document.__name__, "--check"]
    environment = os.environ | {"PYTHONPATH": python_path(), suite.ONLY: ""}
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


class Terse(Algorithm):
    """Terse."""

    def run(self, r):
        """Do nothing."""


def test_a_docstring_of_one_line_has_no_equations():
    text = page({"terse": Terse, "silent": Silent}, {})
    terse, silent = text[text.index("## terse") : text.index("## silent")], text[text.index("## silent") :]
    assert "**Terse**\n\n| verified |" in terse
    assert "```" not in terse
    assert "**Silent**\n\n```\nx = x\n```\n\nIt claims nothing.\n" in silent


def test_what_nobody_claims_is_called_not_verified():
    text = page({"silent": Silent}, {("silent", "P24"): {"virtual": {3}}})
    assert "| P24: 3, 5 and 6 workers" in text
    missing = text[text.index("**Not verified**") :]
    assert all(key in missing for key in ("equations (", "pinned (", "P17 (", "P19 (", "I1 ("))
    assert "| [`silent`](#silent) | Silent | P | not declared |" in text
    assert "**Other**" in text


def test_shared_settings_are_listed_once_and_spaces_with_every_method():
    text = page({"sgd": SGD, "diloco": Diloco, "terse": Terse}, {})
    assert text.count("| `milestones` |") == 1
    assert "| `optimizer` | sgd; `diloco`: adamw |" in text or "| `optimizer` | adamw; `sgd`: sgd |" in text
    diloco = text[text.index("## diloco") : text.index("## terse")]
    assert "`lr` 0.0003 to 0.03 (log)" in diloco
    assert "warmup" not in diloco
    assert "Searched" not in text[text.index("## terse") :]
    assert "Settings of the step\n" not in page({"terse": Terse}, {})


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (Space(low=0, high=1e-3), "0 to 0.001"),
        (
            Space(low=0, high=0.9, scale="reverse-log", when={"a": ["x", None]}),
            "0 to 0.9 (reverse-log), if a is x or empty",
        ),
        (Space(choices=[True, 2, None]), "true or 2 or empty"),
    ],
)
def test_spaces_in_words(space, told):
    assert words(space) == told


def test_the_page_has_a_meaning_for_everything_that_is_verified():
    with pytest.raises(ValueError, match="P99"):
        page({"sgd": SGD}, {("sgd", "P99"): {"virtual": {1}}})
