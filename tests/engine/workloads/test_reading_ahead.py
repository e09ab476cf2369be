"""Reading the next batch while this one is in use changes neither a run nor what a checkpoint restores."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place
from hooke.loop.train import run_spec_virtual
from hooke.objective.batches import Batches
from hooke.objective.flat import FlatObjective
from hooke.objective.samples import Mapped, Samples
from hooke.spec.specification import Compute
from hypothesis import given
from hypothesis import strategies as st
from torch import nn


@given(st.sampled_from(["iid", "disjoint"]), st.lists(st.sampled_from(["peek", "next", "save"]), max_size=30))
def test_peeking_moves_nothing(sharding, actions):
    plain, peeked = (Batches(11, 4, 7, 1, 2, sharding) for _ in range(2))
    for action in actions:
        if action == "next":
            assert np.array_equal(plain.next(), peeked.next())
        elif action == "save":
            assert plain.cursor() == peeked.cursor()
            restored = Batches(11, 4, 7, 1, 2, sharding)
            restored.peek()
            restored.restore(peeked.cursor())
            peeked = restored
        else:
            ahead = peeked.peek()
            assert np.array_equal(ahead, peeked.peek())


class Slow(Samples):
    slow = True


def objective(slow: bool, rank: int = 0) -> FlatObjective:
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (60, 3, 6, 6), dtype=torch.uint8, generator=generator)
    labels = torch.arange(60) % 4
    kind = Slow if slow else Samples
    return FlatObjective(
        lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(108, 4)),
        kind(pixels, labels, 1 / 255, crop=2, flip=True),
        Samples(pixels[:8], labels[:8], 1 / 255),
        validation=Samples(pixels[:8], labels[:8], 1 / 255),
        place=Place(Compute(device="cpu"), 0, rank),
    )


def spec(samples: int, checkpoint: str):
    return validate_run(
        {
            "schema": "hooke.run/1", "workload": {"name": "digits-mlp"}, "batch": 5, "workers": 2,
            "algorithm": {"name": "sync-easgd", "parameters": {"lr": 0.1}}, "world": "virtual", "virtual": {},
            "budget": {"samples": samples}, "evaluation": {"every": 10**6}, "checkpoint": checkpoint,
        }
    )  # fmt: skip


@pytest.mark.parametrize("sharding", ["iid", "disjoint"])
def test_a_run_that_reads_ahead_and_one_that_was_restarted(tmp_path, sharding):
    straight = spec(200, "never").model_copy(update={"sharding": sharding})
    truth = [o.weights for o in run_spec_virtual(straight, None, lambda: objective(False))]
    assert objective(True).reads_ahead
    assert not objective(False).reads_ahead
    ahead = [o.weights for o in run_spec_virtual(straight, None, lambda: objective(True))]
    half = spec(90, "always").model_copy(update={"sharding": sharding})
    run_spec_virtual(half, tmp_path, lambda: objective(True))
    whole = spec(200, "always").model_copy(update={"sharding": sharding})
    restarted = [o.weights for o in run_spec_virtual(whole, tmp_path, lambda: objective(True), resume=True)]
    for a, b, c in zip(truth, ahead, restarted, strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)


class Failing:
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int):
        if index == 7:
            raise OSError("disk 7 is gone")
        return torch.zeros(108), 0


def test_an_error_while_reading_ahead_is_raised_where_the_batch_is_wanted():
    parts = (Mapped(Failing()) for _ in range(3))
    failing = FlatObjective(
        lambda: nn.Linear(108, 4),
        next(parts),
        next(parts),
        validation=next(parts),
        place=Place(Compute(device="cpu")),
    )
    failing.pick([0, 1])
    failing.prefetch([6, 7])
    with pytest.raises(OSError, match="disk 7"):
        failing.pick([6, 7])
    failing.close()
