"""The peers train what Hooke trains: the same data, start and arithmetic, where one worker is alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.settings import METHODS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def trained(noise, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    environment = os.environ | {
        "HOOKE_DATA": str(noise),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "UCX_LOG_LEVEL": "error",
    }
    program = [sys.executable, str(Path(__file__).with_name("one_worker.py")), str(folder)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)
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
