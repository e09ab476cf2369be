"""The units in systemd/: what they start exists, what survives them, and what systemd itself says of them."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hooke.cli.group import OWN, load
from hooke_api.base.settings import Settings

from tests.checkout import ROOT

UNITS = {str(path.relative_to(ROOT / "systemd")): path for path in sorted((ROOT / "systemd").rglob("*.service"))}
AGENTS = [name for name in UNITS if "hooke-agent" in name]
TAKES_FROM_RANKS = {
    "PrivateTmp": "its end removes files of ranks that live",
    "PrivateDevices": "GPUs and adapters",
    "ProtectClock": "closes all devices but the clock",
    "DevicePolicy": "GPUs and adapters",
    "MemoryDenyWriteExecute": "compiled kernels",
    "RestrictAddressFamilies": "MPI's networks",
    "SystemCallFilter": "MPI's copies between processes",
    "RuntimeDirectory": "removed with the agent",
}
"""Options that supervisors and ranks would inherit from their agent's unit."""


def options(path: Path) -> dict[str, list[str]]:
    """Return the options of a unit: name -> values."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_there_is_a_unit_for_each_part():
    assert set(UNITS) == {"system/hooke-api@.service", "system/hooke-agent@.service", "user/hooke-agent@.service"}


@pytest.mark.parametrize("name", UNITS)
def test_what_a_unit_starts_exists(name):
    (command,) = options(UNITS[name])["ExecStart"]
    program, *words = command.split()
    if words[0] == "-m":
        assert Path(program).name == "python"
        assert importlib.util.find_spec(f"{words[1]}.__main__") is not None
    else:
        assert Path(program).name == "hooke"
        known = {option for each in load(words[0], OWN[words[0]]).params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= known
    given = {pair.partition("=")[0] for line in options(UNITS[name])["Environment"] for pair in line.split()}
    settings = {field.alias or f"HOOKE_{name.upper()}" for name, field in Settings.model_fields.items()}
    assert {variable for variable in given if variable.startswith("HOOKE_")} <= settings


@pytest.mark.parametrize("name", AGENTS)
def test_supervisors_and_ranks_live_on_without_their_agent(name):
    found = options(UNITS[name])
    assert found["KillMode"] == ["process"]
    assert found["OOMPolicy"] == ["continue"], "a rank without memory must not end the agent"
    assert {option: why for option, why in TAKES_FROM_RANKS.items() if option in found} == {}


@pytest.mark.parametrize("name", UNITS)
def test_no_unit_is_root_or_may_become_it(name):
    found = options(UNITS[name])
    assert found["NoNewPrivileges"] == ["yes"]
    if name.startswith("system/"):
        assert found["User"][0] not in ("root", "0")
        assert found["ProtectSystem"] == ["strict"]
        assert found["CapabilityBoundingSet"] == [""]
        assert found["ReadWritePaths"][0].startswith("%S/hooke")


def test_the_api_is_closed_in_further():
    found = options(UNITS["system/hooke-api@.service"])
    assert found["Restart"] == ["always"]
    for option in ("PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictNamespaces", "ProtectKernelTunables"):
        assert found[option] == ["yes"]
    assert found["SystemCallFilter"] == ["@system-service"]


def verify(folder: Path, name: str, text: str) -> str:
    """Return what systemd says of a unit with this text, whose program is one that exists."""
    place = folder / Path(name).name
    place.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", text, flags=re.MULTILINE))
    scope = ["--user"] if name.startswith("user/") else []
    said = subprocess.run(
        ["systemd-analyze", *scope, "verify", "--man=no", "--recursive-errors=no", place],
        env=os.environ | {"XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout + said.stderr


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_a_unit(name, tmp_path):
    text = UNITS[name].read_text()
    assert verify(tmp_path, name, text) == ""
    assert "KilMode" in verify(tmp_path, name, text.replace("RestartSec=", "KilMode=process\nRestartSec="))
