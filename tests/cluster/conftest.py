"""Fixtures of the cluster side."""

import importlib.util
import os
import tempfile
from pathlib import Path

import pytest

from tests.cluster import slurm as slurms
from tests.cluster.bench import Bench
from tests.cluster.recording_api import RecordingApi
from tests.conftest import required
from tests.waiting import wait_for


@pytest.fixture
def bench(tmp_path):
    """Return a Bench; every process of the test is gone afterwards."""
    bench = Bench(tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def api():
    """Return an API that records what it gets."""
    found = RecordingApi()
    yield found
    found.down()


@pytest.fixture(scope="session")
def slurm():
    """Return a Slurm of one node with four processors, for all files of tests/cluster/test_slurm*."""
    if reason := slurms.lacking():
        if "slurm" in required():
            pytest.fail(f"HOOKE_REQUIRE={os.environ['HOOKE_REQUIRE']} forbids to skip: {reason}", pytrace=False)
        pytest.skip(f"NOT TESTED HERE: {reason} (HOOKE_REQUIRE=slurm makes this fail)")
    with tempfile.TemporaryDirectory(prefix="hooke-slurm-") as folder:  # a socket's path must be short
        made = slurms.Slurm(Path(folder))
        try:
            made.up()
            yield made
        finally:
            made.down()


@pytest.fixture
def on_slurm(slurm, monkeypatch):
    """Make this process a host from which jobs are submitted; all of them are gone after the test."""
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    monkeypatch.setenv("PATH", slurm.environment["PATH"])
    wait_for(slurm.idle, "the node to be idle")
    yield slurm
    slurm.ask("scontrol", "update", f"nodename={slurm.node}", "state=resume", check=False)
    slurm.ask("scancel", "-u", "root", "--signal=KILL", "--full", check=False)
    slurm.ask("scancel", "-u", "root", check=False)


@pytest.fixture
def psij():
    """Return the library PSI/J, or skip."""
    if importlib.util.find_spec("psij") is None and "psij" in required():
        pytest.fail(f"HOOKE_REQUIRE={os.environ['HOOKE_REQUIRE']} forbids to skip: psij-python is not installed")
    return pytest.importorskip("psij", reason="NOT TESTED HERE: psij-python is missing (HOOKE_REQUIRE=psij fails)")
