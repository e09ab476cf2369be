"""What tests/conftest.py promises: a missing program is loud, and tests that share are on one worker."""

import os
import random
import re
import shutil
import string
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

SHARED = [Path(__file__).with_name(name) for name in ("conftest.py", "workers.py")]
INI = "[pytest]\nmarkers = needs(program): ...\npythonpath = .\njunit_family = xunit1\n"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", "--import-mode=importlib"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TEST = """
import pytest

@pytest.mark.needs("hooke-no-such-program")
def test_it():
    pass

@pytest.mark.needs("sh")
def test_there():
    pass
"""


def outcome_of(files, folder, *options, environment=None):
    """Run pytest on these files in a folder, with the conftest.py of these tests."""
    for name, text in files.items():
        (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tests" / name).write_text(text)
    for file in SHARED:
        shutil.copy(file, folder / "tests")
    (folder / "pytest.ini").write_text(INI)
    return subprocess.run(
        [*PYTEST, *options, str(folder / "tests")],
        cwd=folder,
        env=os.environ | ALONE | (environment or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "require, outcome",
    [
        ("", "1 passed, 1 skipped"),
        ("redis", "1 passed, 1 skipped"),
        ("redis, hooke-no-such-program", "1 passed, 1 error"),
    ],
)
def test_required_programs(tmp_path, require, outcome):
    done = outcome_of({"test_needs.py": TEST}, tmp_path, environment={"HOOKE_REQUIRE": require})
    assert outcome in done.stdout, done.stdout
    assert "'hooke-no-such-program' is not installed" in done.stdout
    assert done.returncode == (1 if "error" in outcome else 0)


@pytest.mark.parametrize("operation", ["==", "not in"])
def test_a_difference_of_long_texts_is_told_in_seconds(request, monkeypatch, operation):
    """Compared character by character these take minutes."""
    monkeypatch.setenv("CI", "true")
    draw = random.Random(1)
    text = "".join(draw.choices(string.printable, k=400_000))
    part = text[200_000:200_020]
    other = part if operation == "not in" else text.replace(part, "")
    compare = request.node.ihook.pytest_assertrepr_compare
    (told,) = (each for each in compare(config=request.config, op=operation, left=other, right=text) if each)
    assert len("".join(told)) < 3000
    assert os.environ["CI"] == "true"


def test_a_group_runs_on_one_worker(tmp_path):
    """Files of a folder that share, and files that do not: three workers would run tests of each otherwise.

    Tests of the API share by kind of database, where they have one.
    """
    kinds = "@pytest.mark.parametrize('kind', ['sqlite', 'postgres'])\n"
    told = "    record_property('worker', os.environ['TESTS_WORKER'])\n"
    files = {}
    for name, mark, kind in (
        *(("api/test_a.py", kinds, ", kind"), ("api/test_b.py", kinds, ", kind"), ("api/test_c.py", "", "")),
        *(("engine/loop/test_d.py", "", ""), ("engine/loop/deep/test_e.py", "", ""), ("test_f.py", "", "")),
    ):
        begin = f"import os, pytest\n{mark}@pytest.mark.parametrize('n', range(6))\n"
        files[name] = f"{begin}def test_it(n{kind}, record_property):\n{told}"
    ended = outcome_of(files, tmp_path, "--workers", "3", f"--junit-xml={tmp_path / 'found.xml'}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    workers = defaultdict(set)
    for case in ElementTree.parse(tmp_path / "found.xml").iter("testcase"):
        place, name = case.get("classname").removeprefix("tests."), case.get("name")
        kind = next((each for each in ("sqlite", "postgres") if each in name), "")
        group = kind or ("engine" if place.startswith("engine") else place)
        workers[group] |= {each.get("value") for each in case.iter("property")}
    assert set(workers) == {"sqlite", "postgres", "api.test_c", "engine", "test_f"}
    assert [len(each) for each in workers.values()] == [1] * 5
    assert len(set.union(*workers.values())) > 1


DYING = """
import os, signal, pytest

@pytest.fixture(scope="session")
def served(tmp_path_factory):
    yield
    print("fixtures are ended by", os.getpid())
    tmp_path_factory.getbasetemp().joinpath("ended").touch()

def test_before(served):
    print("not of interest")

def test_dying():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after(served):
    print("told by", os.environ["TESTS_WORKER"])
    assert not "to be told"
"""
WARNING = """
import warnings

def test_it():
    warnings.warn("mind this", stacklevel=1)
"""


def test_the_death_of_a_worker_is_told_and_what_it_had_left_is_run(tmp_path):
    """What a test has printed, its warnings, and the end of its fixtures are as without workers."""
    files = {"test_a.py": DYING, "test_b.py": WARNING}
    ended = outcome_of(files, tmp_path, "--workers", "2", f"--basetemp={tmp_path / 'base'}")
    assert ended.returncode == 1
    assert re.search(r"_ test_dying _+\nits worker ended with SIGKILL while this test ran\n", ended.stdout)
    assert re.search(r"assert not .to be told.", ended.stdout)
    assert re.search(r"told by w\d", ended.stdout)
    assert "test_b.py:5: UserWarning: mind this" in ended.stdout
    assert "2 failed, 2 passed" in ended.stdout
    assert "not of interest" not in ended.stdout
    assert len(list(tmp_path.glob("base/w*/ended"))) == 1, "the one that died could not"


def test_the_first_failure_ends_all_if_that_is_asked(tmp_path):
    slow = "import time\n\ndef test_slow():\n    time.sleep(600)\n"
    files = {"test_a.py": "def test_wrong():\n    assert False\n", "test_b.py": slow}
    ended = outcome_of(files, tmp_path, "--workers", "2", "-x")
    assert "stopping after 1 failures" in ended.stdout
    assert ended.returncode == 1
