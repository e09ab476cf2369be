"""Gradients of several ranks at once: the same bits in every journal; one at a time where something is shared."""

import json
import threading

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place, offered
from hooke.errors import DataInvalid
from hooke.loop.train import run_spec_virtual
from hooke.objective.given_workload import Given, workload_of
from hooke.spec.specification import Compute
from torch import nn
from torch.nn import functional

IMAGES = torch.rand(120, 1, 12, 12, generator=torch.Generator().manual_seed(0))
DATA = IMAGES, torch.arange(120) % 4
REAL = ("unix", "monotonic", "pid")


def model():
    layers = (nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return nn.Sequential(*layers, nn.Dropout(0.3), nn.Linear(200, 4))


def plain(output, labels):
    return functional.cross_entropy(output, labels)


def objective(loss=plain, make=model):
    made = workload_of(Given(make, DATA, DATA, loss=loss), "parallel")().build(Place(Compute(device="cpu")))
    made.gradient(made.pick(range(8)))
    return made


def journals(folder):
    """Return all records, without the times and numbers of this machine."""
    texts = [path.read_text().splitlines() for path in sorted(folder.glob("journal.*.jsonl"))]
    records = [[json.loads(line) for line in lines] for lines in texts]
    return [[{k: v for k, v in record.items() if k not in REAL} for record in rank] for rank in records]


@pytest.mark.parametrize(
    ("method", "precision"),
    [
        ("sync-easgd3", "fp32"),
        ("async-easgd", "bf16"),
        ("hogwild-easgd", "fp32"),
        ("stochastic-gradient-push", "fp32"),
    ],
)
def test_the_journals_do_not_depend_on_the_number_of_cores(method, precision, tmp_path, monkeypatch):
    monkeypatch.setattr("hooke.spec.journal.BLOCK_SECONDS", 1e9)  # else blocks end when this machine says so
    spec = {
        "workload": {"name": "parallel"},
        "algorithm": {"name": method, "parameters": {"momentum": 0.5}},
        "batch": 8,
        "workers": 4,
        "world": "virtual",
        "virtual": {"compute_jitter": 0.3},
        "budget": {"samples": 8 * 4 * 12},
        "evaluation": {"every": 128},
        "compute": {"device": "cpu", "precision": precision},
        "checkpoint": "always",
    }
    found = []
    with offered(workload_of(Given(model, DATA, DATA), "parallel")):
        for cores in (1, 4):
            folder = tmp_path / str(cores)
            run_spec_virtual(validate_run(spec), folder, cores=cores)
            weights = [np.load(path)["weights"] for path in sorted(folder.glob("final.*.npz"))]
            found.append((weights, journals(folder)))
    assert all(map(np.array_equal, found[0][0], found[1][0]))
    drop = {"path", "sha256"}  # a checkpoint is in another folder, which its archive holds
    for one, other in zip(found[0][1], found[1][1], strict=True):
        assert [{k: v for k, v in r.items() if k not in drop} for r in one] == [
            {k: v for k, v in r.items() if k not in drop} for r in other
        ]


def test_gradients_are_computed_at_once():
    """Two ranks meet in their loss, which neither could leave alone."""
    spec = {"workload": {"name": "parallel"}, "algorithm": {"name": "sync-sgd"}, "batch": 8, "workers": 2}
    spec |= {"world": "virtual", "virtual": {}, "budget": {"samples": 48}, "evaluation": {"every": 48}}
    meeting, calls = threading.Barrier(2), [0, 0]

    class Meeting(nn.Linear):
        def forward(self, x):
            if self.training and torch.is_grad_enabled():
                self.count = getattr(self, "count", 0) + 1
                if self.count > 1:  # the first gradient of a rank tests its generators, alone
                    meeting.wait(20)
                    calls.append(self.count)
            return super().forward(x)

    def make():
        return nn.Sequential(nn.Flatten(), Meeting(144, 4))

    with offered(workload_of(Given(make, DATA, DATA), "parallel")):
        run_spec_virtual(validate_run(spec), cores=2)
    assert sorted(calls[2:]) == [2, 2, 3, 3]


def test_shares_are_scored_at_once():
    """Two ranks meet in their scores of the validation and of the test part, which neither could leave alone."""
    spec = {"workload": {"name": "parallel"}, "algorithm": {"name": "sync-sgd"}, "batch": 8, "workers": 2}
    spec |= {"world": "virtual", "virtual": {}, "budget": {"samples": 48}, "evaluation": {"every": 48}}
    meeting, trained, calls = threading.Barrier(2), threading.Event(), []

    class Meeting(nn.Linear):
        def forward(self, x):
            if self.training:
                trained.set()
            elif trained.is_set():  # at first, nothing is known of the model yet
                meeting.wait(20)
                calls.append(len(x))
            return super().forward(x)

    def make():
        return nn.Sequential(nn.Flatten(), Meeting(144, 4))

    with offered(workload_of(Given(make, DATA, DATA), "parallel")):
        run_spec_virtual(validate_run(spec), cores=2)
    assert len(calls) == 4
    assert sum(calls) == 12 + 120


def test_scores_of_users_are_computed_by_one_rank_at_a_time():
    assert objective(loss=None).scores_apart
    assert objective(loss=plain).scores_apart
    counted = []
    made = workload_of(Given(model, DATA, DATA, score=lambda y, t: counted.append(1) or 0.5), "parallel")()
    found = made.build(Place(Compute(device="cpu")))
    found.gradient(found.pick(range(8)))
    assert found.independent
    assert not found.scores_apart


def test_what_ranks_share_is_used_by_one_at_a_time():
    assert objective().independent
    assert objective(loss=None).independent
    counted = {}
    for shared in (nn.CrossEntropyLoss(), lambda y, t: plain(y, t) * len(counted or "1")):
        assert not objective(loss=shared).independent


def test_a_model_that_is_not_made_anew_is_refused():
    one = model()
    with pytest.raises(DataInvalid, match="`model`: `0.weight` is that of another model"):
        objective(make=lambda: one).initial(0)
