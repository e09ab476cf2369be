"""The suite verifies own methods, too: `HOOKE_PATH=FOLDER HOOKE_METHODS=NAME pytest tests/engine/contract`."""

import os
import re
import subprocess
import sys

from tests import warm_ranks
from tests.checkout import ROOT, python_path
from tests.engine.contract import suite

OWN = {"elastic-gossip", "lookahead-easgd"}


def test_a_name_that_is_none_and_a_broken_file_are_told(tmp_path):
    """Otherwise everything would be deselected, and nobody would know why."""
    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "mine.py").write_text("import nothing_of_this_name")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/engine/contract",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "mine",
    ]
    own = {"HOOKE_PATH": str(tmp_path), suite.ONLY: "mine", "PYTHONPATH": python_path()}
    ended = subprocess.run(
        command, check=False, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 4
    assert "no algorithm is called 'mine'" in ended.stderr
    assert "No module named 'nothing_of_this_name'" in ended.stderr


def test_the_examples_pass_the_suite():
    """Both worlds. What a class does not claim is skipped by name: the one claims nothing, the other all."""
    command = [sys.executable, "-m", "pytest", "tests/engine/contract", "-q", "-p", "no:cacheprovider"]
    command += ["-k", " or ".join(sorted(OWN))]
    own = {
        "HOOKE_PATH": str(ROOT / "examples/own"),
        suite.ONLY: ",".join(sorted(OWN)),
        "PYTHONPATH": python_path(),
    }
    own = warm_ranks.environment() | own
    ended = subprocess.run(
        command, check=False, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    passed, skipped = (int(re.search(rf"(\d+) {word}", ended.stdout)[1]) for word in ("passed", "skipped"))
    assert passed > 250
    assert skipped == 4
    said = re.findall(r"NOT VERIFIED: (\S+) (names no equations|does not|names no limit)", ended.stdout)
    assert {name for name, _ in said} == {"lookahead-easgd"}
