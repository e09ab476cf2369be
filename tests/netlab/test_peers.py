"""The peers train what Hooke trains: the same data, start and arithmetic, where one worker is alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.settings import METHODS, Settings

ROOT = Path(__file__).resolve().parents[2]


def ended(noise, *words, path=ROOT):
    """Run a Python program that trains on `noise` to its end."""
    environment = os.environ | {
        "HOOKE_DATA": str(noise),
        "PYTHONPATH": str(path),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "UCX_LOG_LEVEL": "error",
    }
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def trained(noise, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    done = ended(noise, Path(__file__).with_name("one_worker.py"), folder)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "weights.npz"), np.load(folder / "scores.npz")


@pytest.mark.parametrize("method", METHODS)
def test_one_worker_of_a_peer_is_sgd(trained, method):
    weights, scores = trained
    moved = np.abs(weights["hooke"] - weights["initial"]).max()
    assert moved > 0.01
    assert np.abs(weights["hooke"] - weights[method]).max() < 1e-3 * moved, "50 steps, to float32 rounding"
    assert scores["hooke"][:, 0].tolist() == scores[method][:, 0].tolist() == [0, 400, 800]
    np.testing.assert_allclose(scores[method][:, 1], scores["hooke"][:, 1], rtol=1e-5)


def test_a_peer_that_has_left_its_outcome_is_not_undone_by_the_end_of_its_interpreter(noise, tmp_path):
    """Threads of PyTorch's groups now and then abort it there; here it is aborted always."""
    (tmp_path / "sitecustomize.py").write_text("import atexit, os\natexit.register(os.abort)\n")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    assert ended(noise, "-c", "pass", path=path).returncode == -signal.SIGABRT
    Settings("ddp", samples=160, every=80, target=None).write(tmp_path)
    done = ended(noise, "-m", "benchmarks.peers.training", tmp_path, path=path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "outcome.0.json").read_text())["steps"] == 10
