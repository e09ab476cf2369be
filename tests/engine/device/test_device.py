"""What has to hold on a CUDA device; where there is none, what can be tried without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hooke.objective.loader import Loader
from hooke.objective.replayed import Replayed

from tests.engine.device import checks

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.needs("cuda")
@pytest.mark.parametrize("name", checks.CHECKS)
def test_on_a_device(name):
    checks.CHECKS[name]("cuda")


def test_batches_in_either_order_of_memory_read_ahead_or_not():
    checks.batches_are_those_of_the_cpu("cpu")


@pytest.mark.needs("cuda")
def test_methods_compute_their_equations_with_the_same_bits_in_both_worlds():
    methods = ["sync-sgd", "async-easgd", "hogbatch", "sparseloco"]
    command = [sys.executable, "-m", "audit", "--device", "cuda", "--at-once", "4", "--only", *methods]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def ended(tmp_path, devices, **variables):
    """Return how `hooke run` of Hogbatch ended, with its result."""
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": "hogbatch", "parameters": {"lr": 0.05}},
        "groups": devices,
        "workers": len(devices),
        "world": "mpi",
        "batch": 16,
        "budget": {"samples": 16 * 300},
    }
    (tmp_path / "run.json").write_text(json.dumps(document))
    command = [str(Path(sys.executable).with_name("hooke")), "run", "--json", str(tmp_path / "run.json")]
    return subprocess.run(
        command, check=False, env=os.environ | variables, capture_output=True, text=True, timeout=120
    )


@pytest.mark.needs("cuda")
def test_a_device_and_threads_of_the_cpu_train_one_model(tmp_path):
    run = ended(tmp_path, [{"kind": "cuda"}, {"kind": "hogwild-cpu", "threads": 2}])
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["lost_mass"] < 0.01
    assert found["test_accuracy"] > 0.8


@pytest.mark.needs("cuda")
def test_without_a_device_it_says_what_to_do(tmp_path):
    run = ended(tmp_path, [{"kind": "cuda"}, {"kind": "cpu"}], CUDA_VISIBLE_DEVICES="")
    assert run.returncode != 0
    assert "PyTorch finds no CUDA device on this host: ask for `auto` or `cpu`" in run.stderr + run.stdout


@pytest.fixture
def made(monkeypatch):
    """What a recording does, on the CPU: it computes again whatever the memory holds that it was made with."""

    class Again:
        def __init__(self, work):
            self.work, self.told = work, torch.zeros(2)

        def replay(self):
            self.told.copy_(self.work())

    found = []

    def record(self, batch):
        found.append(Again(lambda: self._compute(batch)))
        return found[-1], found[-1].told, batch

    monkeypatch.setattr(Replayed, "_record", record)
    return found


def test_nothing_outlives_a_gradient_that_warms_up(made):
    of = checks.objective("resnet", "cpu")
    of._replayed = Replayed(of._queue_with_total, of.model.buffers())
    before = of.local_state()
    of.warm(16)
    assert len(made) == 1
    assert made[0].told.all(), "it was not launched"
    assert not of._gradient.any()
    for name, value in of.local_state().items():
        assert value.tobytes() == before[name].tobytes(), name


def test_a_gradient_of_held_data_reads_the_places_of_its_batch(made):
    plain, mine = checks.objective("lenet", "cpu"), checks.objective("lenet", "cpu")
    mine._loader = Loader(mine.train, mine.device, torch.float32, deferred=True, holds=True)
    mine._replayed = Replayed(mine._queue_with_total, mine.model.buffers())
    assert torch.equal(checks.trained(mine, 5), checks.trained(plain, 5))
    assert len(made) == 1
    for size in (8, 32, 8, 16, 32, 16, 8):  # as methods with batches of several sizes
        losses = [each.gradient(each.pick(range(size))) for each in (mine, plain)]
        assert losses[0] == losses[1]
    assert len(made) == 3, "each is recorded when it comes a second time, and then found"
    assert mine.total == pytest.approx(float(mine._gradient.sum()), abs=1e-5)
    assert plain.total is None
