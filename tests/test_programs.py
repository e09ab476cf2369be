"""What tests/conftest.py promises: a missing program is loud, and tests that share are on one worker."""

import os
import random
import shutil
import string
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

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
    folder = tmp_path / "tests"
    kinds = "@pytest.mark.parametrize('kind', ['sqlite', 'postgres'])\n"
    told = "    record_property('worker', os.environ['PYTEST_XDIST_WORKER'])\n"
    for name, mark, kind in (
        *(("api/test_a.py", kinds, ", kind"), ("api/test_b.py", kinds, ", kind"), ("api/test_c.py", "", "")),
        *(("engine/loop/test_d.py", "", ""), ("engine/loop/deep/test_e.py", "", ""), ("test_f.py", "", "")),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        begin = f"import os, pytest\n{mark}@pytest.mark.parametrize('n', range(6))\n"
        (folder / name).write_text(f"{begin}def test_it(n{kind}, record_property):\n{told}")
    shutil.copy(CONFTEST, folder)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = needs(program): ...\njunit_family = xunit1\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "no:cacheprovider", "-n", "3"]
    subprocess.run(
        [*command, "--import-mode=importlib", f"--junit-xml={tmp_path / 'found.xml'}", str(folder)],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        timeout=120,
        check=True,
    )
    workers = defaultdict(set)
    for case in ElementTree.parse(tmp_path / "found.xml").iter("testcase"):
        place, name = case.get("classname").removeprefix("tests."), case.get("name")
        kind = next((each for each in ("sqlite", "postgres") if each in name), "")
        group = kind or ("engine" if place.startswith("engine") else place)
        workers[group] |= {each.get("value") for each in case.iter("property")}
    assert set(workers) == {"sqlite", "postgres", "api.test_c", "engine", "test_f"}
    assert [len(each) for each in workers.values()] == [1] * 5
    assert len(set.union(*workers.values())) > 1
