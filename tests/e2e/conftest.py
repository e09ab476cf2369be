"""For tests that start whole programs."""

import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # instances.py: help shared by the files of this folder

from instances import Running


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
