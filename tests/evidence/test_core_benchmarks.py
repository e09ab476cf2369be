"""The benchmark of the loop runs: it compares the product with plain PyTorch on the same items."""

import json
import statistics
import subprocess
import sys

import torch

from benchmarks.core import virtual
from benchmarks.core._objectives import items_of, make_digits
from tests.checkout import ROOT

PROGRAM = """
from benchmarks.core._objectives import make_digits
from benchmarks.core.loop import hooke_seconds, plain_seconds

objective = make_digits()
assert 0 < hooke_seconds(objective, 20) < 60
assert 0 < plain_seconds(objective, 20) < 60

from benchmarks.unequal import coordinating

coordinating.REQUESTS = 60
for method in coordinating.METHODS:
    whole, replied = coordinating.requests(method, 3)
    assert 0 < replied < whole < 1
"""


def test_the_plain_loop_has_the_items_that_the_product_trains_on():
    objective = make_digits()
    inputs, labels = items_of(objective)
    assert len(inputs) == len(labels) == objective.train_size
    part, at = objective.train, torch.arange(5)
    read = torch.empty((5, *part.shape), dtype=part.dtype), torch.empty(5, dtype=part.label_dtype)
    part.read(at, *read, None)
    assert torch.equal(read[0], inputs[at])
    assert torch.equal(read[1], labels[at])


def test_both_loops_and_a_coordinator_can_be_timed():
    """In a process of its own: MPI sets signal handlers."""
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_the_page_on_simulated_training_is_that_of_its_measurements():
    from benchmarks.simulators import DATA, PAGE, page

    data = json.loads(DATA.read_text())
    assert PAGE.read_text() == page(data)
    ours, other = data["rates"]["DDP"]["Hooke"], data["rates"]["DDP"]["EXO Gym"]
    ratio = statistics.median(ours["processor"]) / statistics.median(other["processor"])
    assert f"DDP: Hooke trains {ratio:.1f} times" in PAGE.read_text()


def test_the_speed_of_all_cores_is_measured_on_runs_that_do_not_diverge(monkeypatch):
    """With and without evaluations between the steps; how much is gained depends on the machine."""
    monkeypatch.setattr(virtual, "TURNS", 1)
    assert virtual.gain(2) > 0
    assert virtual.gain(2, 2 * 32 * 6) > 0
