"""For tests that start whole programs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # instances.py: help shared by the files of this folder

from instances import Running

from tests import waiting, warm_ranks
from tests.api.databases import sqlite_template  # fixtures count where they are imported

__all__ = ["sqlite_template"]


@pytest.fixture
def free_port():
    return waiting.free_port()


@pytest.fixture
def hooke(tmp_path, free_port, sqlite_template):
    """Return a function that starts `hooke ...`; everything it started is gone after the test.

    Over a migrated database, unless it is the `first` start of all. Ranks of a demonstration start as for a user,
    those of a platform without imports.
    """
    started = []

    def start(
        *arguments: str, home: str = "home", port: int | None = free_port, environment=None, first: bool = False
    ) -> Running:
        database = None if first else sqlite_template
        own = ({} if "demo" in arguments else warm_ranks.environment()) | (environment or {})
        made = Running(tmp_path / home, *arguments, port=port, environment=own, database=database)
        started.append(made)
        return made

    yield start
    for running in started:
        running.stop()
    for running in started:
        running.sweep()
