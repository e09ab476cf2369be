"""The command line as users start it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hooke.cli.group import app
from typer.testing import CliRunner

RUN: dict[str, Any] = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp", "parameters": {"hidden1": 32, "hidden2": 16}},
    "algorithm": {"name": "sync-easgd", "parameters": {"lr": 0.1, "rho": 1.0}},
    "batch": 16,
    "workers": 2,
    "seed": 4,
    "budget": {"samples": 3200},
    "evaluation": {"every": 800},
}


@dataclass
class Ended:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "hooke", *map(str, arguments)]


@pytest.fixture
def hooke(tmp_path):
    """Return a function that runs `hooke ...` in an empty folder and returns how it ended."""

    def call(*arguments: object, env: dict[str, str] | None = None) -> Ended:
        done = subprocess.run(
            command(*arguments),
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | (env or {}),
            timeout=240,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Return a function that runs `hooke ...` in this process, and the status is 2: for what ends before a run."""

    def call(*arguments: object) -> Ended:
        monkeypatch.chdir(tmp_path)
        ended = CliRunner().invoke(app, list(map(str, arguments)), prog_name="hooke")
        assert ended.exit_code == 2, ended.output
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return call


@pytest.fixture
def spec(tmp_path):
    """Return a function that writes a run, changed by the given keys, and returns the file."""

    def write(**changes: object) -> Path:
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(RUN | changes))
        return path

    return write


def processes_of(folder: Path) -> list[int]:
    """Return living processes that were started for a run in this folder."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and str(folder).encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]
