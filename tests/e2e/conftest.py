"""For tests that start whole programs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # instances.py: help shared by the files of this folder

from instances import Running

from tests import waiting


@pytest.fixture
def free_port():
    return waiting.free_port()


@pytest.fixture
def hooke(tmp_path, free_port):
    """Return a function that starts `hooke ...`; everything it started is gone after the test."""
    started = []

    def start(*arguments: str, home: str = "home", port: int | None = free_port, environment=None) -> Running:
        started.append(Running(tmp_path / home, *arguments, port=port, environment=environment))
        return started[-1]

    yield start
    for running in started:
        running.stop()
    for running in started:
        running.sweep()
