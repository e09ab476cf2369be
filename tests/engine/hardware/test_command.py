"""`hooke hardware`: what it prints here, what it does not import, and tables of machines that are not here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hooke.cli.hardware import By, _machine, _placement, _plain
from hooke.hardware.placement import plan

from tests.engine.hardware.machines import MACHINES, machine


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from hooke.cli.group import app\n"
        "try: app(sys.argv[1:], prog_name='hooke')\n"
        "finally: print([m for m in ('torch', 'numpy', 'mpi4py') if m in sys.modules], file=sys.stderr)"
    )
    line = [sys.executable, "-c", code, "hardware", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


def test_it_tells_this_machine_and_imports_nothing_heavy():
    ended = command("--ranks", "2", "--by", "core", "--memory", "0.001")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "[]\n"
    assert f"allowed    {len(os.sched_getaffinity(0))} core" in ended.stdout
    assert "placement  2 ranks by core" in ended.stdout
    bf16 = "bf16" in Path("/proc/cpuinfo").read_text()
    assert f"precision  {'fp32, bf16 (' if bf16 else 'fp32: without instructions'}" in ended.stdout
    assert all(len(line) <= 80 for line in ended.stdout.splitlines())


def test_json():
    found = json.loads(command("--json", "--ranks", "1").stdout)
    assert set(found) == {"topology", "placement", "bf16", "cuda", "mpi", "exchange"}
    assert set(found["topology"]["allowed"]) == os.sched_getaffinity(0)
    assert len(found["placement"]["shares"]) == 1


def test_nothing_to_place():
    ended = command("--ranks", "1", "--server")
    assert ended.returncode == 2
    assert "no worker to place" in ended.stderr


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("ranks", [1, 4, 130])
def test_every_machine_fits_into_80_columns(name, ranks):
    found = machine(name)
    said = f"{_machine(found)}\n{_placement(plan(found, ranks, 'l3', 2**30), By.L3, server=False)}"
    wide = [line for line in said.splitlines() if len(line) > 80]
    assert not wide
    assert f"{len(found.cores)} cores" in said
    assert json.dumps(_plain(found))
