"""Batches of one update in one pass of a device: the same sums, the same account, one gradient instead of many."""

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import workload
from hooke.loop import state
from hooke.loop.flag import Flag
from hooke.loop.passes import Passes
from hooke.loop.state import RankOptions
from hooke.loop.train import run_spec_virtual
from hooke.objective.flat import FlatObjective

MODEL = {"hidden1": 4, "hidden2": 4}
CASES = [
    ("hogbatch", {"sizes": [4, 2], "largest": 4, "alpha": 1.0}, 4),
    ("adaptive-sgd", {"largest": 3, "mega_batch": 12, "scaling": 0.0}, 3),
    ("weighted-sync-sgd", {"sizes": [3, 1]}, 3),
]


def spec(name, parameters, **more):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": MODEL},
            "algorithm": {"name": name, "parameters": {"lr": 0.02} | parameters},
            "workers": 2,
            "world": "virtual",
            "virtual": {"latency": 1e-6, "seconds_per_byte": 0, "compute_jitter": 0.0},
            "batch": 8,
            "budget": {"samples": 8 * 96},
            "evaluation": {"every": 8 * 96},
            "sharding": "dispatched",
        }
        | more
    )


@pytest.fixture
def device(monkeypatch):
    """Let all ranks compute as those on a device do; return the numbers of items of their gradients."""
    items, plain = [], FlatObjective.pick

    def pick(self, indices):
        items.append(len(indices))
        return plain(self, indices)

    of_host = Passes.__init__

    def of_device(self, device):
        of_host(self, device)
        self.whole = True

    monkeypatch.setattr(FlatObjective, "pick", pick)
    monkeypatch.setattr(Passes, "__init__", of_device)
    return items


def test_only_cuda_devices_compute_in_one_pass():
    assert [Passes(each).whole for each in ("cpu", "cuda:0", "cuda")] == [False, True, True]


@pytest.mark.parametrize(("name", "parameters", "most"), CASES)
def test_one_worker_gets_the_same_weights_from_fewer_gradients(request, name, parameters, most):
    """The sums are those of the batches one by one, which is what a rank without a device computes."""
    alone = spec(name, parameters | ({"sizes": [most]} if "sizes" in parameters else {}), workers=1)
    plain = run_spec_virtual(alone)
    items = request.getfixturevalue("device")
    whole = run_spec_virtual(alone)
    np.testing.assert_allclose(whole[-1].center, plain[-1].center, rtol=0, atol=2e-6)
    assert [each.done.step for each in whole] == [each.done.step for each in plain]
    assert max(items) == 8 * most
    assert sum(items) == sum(each.done.step for each in whole[:1]) * 8 * (
        most if name == "weighted-sync-sgd" else 1
    )


def test_a_simulated_run_has_the_clock_and_weights_of_its_batches_one_by_one_on_any_device(monkeypatch):
    """Its clock draws seconds for every batch, so a pass of four would take the time of one."""
    chosen = spec("hogbatch", {"sizes": [4], "largest": 4, "alpha": 1.0}, workers=1)
    plain = run_spec_virtual(chosen)
    monkeypatch.setattr(state, "Passes", lambda device: Passes("cpu" if device == "cpu" else "cuda:0"))
    again = run_spec_virtual(chosen)
    assert again[0].done.clock == plain[0].done.clock
    np.testing.assert_array_equal(again[-1].center, plain[-1].center)


@pytest.mark.parametrize(("name", "parameters", "most"), CASES)
def test_every_example_is_used_once_also_by_several_workers(device, monkeypatch, name, parameters, most):
    del most
    seen, before = [], FlatObjective.pick

    def pick(self, indices):
        seen.extend(np.asarray(indices).tolist())
        return before(self, indices)

    monkeypatch.setattr(FlatObjective, "pick", pick)
    size = workload("digits-mlp")(**MODEL).build().train_size
    run_spec_virtual(spec(name, parameters))
    assert len(seen) == len(set(seen)) == 8 * 96 < size
    assert max(device) > 8


def test_a_run_is_not_cancelled_within_a_pass(device, monkeypatch, tmp_path):
    """Else the examples of a pass would have been used without being in the account, and would be used again."""
    cancel, count, plain = Flag(), [0], FlatObjective.gradient

    def gradient(self, batch):
        count[0] += 1
        if count[0] == 3:
            cancel.set()
        return plain(self, batch)

    monkeypatch.setattr(FlatObjective, "gradient", gradient)
    monkeypatch.setattr(FlatObjective, "independent", property(lambda self: False))
    chosen = spec("hogbatch", {"sizes": [4], "largest": 4, "alpha": 1.0}, workers=1)
    done = run_spec_virtual(chosen, tmp_path, options=RankOptions(cancel))[0].done
    assert done.reason == "cancelled"
    assert sum(device) == 8 * done.step, "all that was computed is in the account"
    assert 8 <= done.step < 96
