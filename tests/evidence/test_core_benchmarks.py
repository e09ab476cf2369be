"""The benchmark of the loop runs: it compares the product with plain PyTorch on the same items."""

import math

import torch

from benchmarks.core._objectives import make_digits
from benchmarks.core.loop import hooke_seconds, items_of, plain_seconds


def test_the_plain_loop_has_the_items_that_the_product_trains_on():
    objective = make_digits()
    inputs, labels = items_of(objective)
    assert len(inputs) == len(labels) == objective.train_size
    part, at = objective.train, torch.arange(5)
    read = torch.empty((5, *part.shape), dtype=part.dtype), torch.empty(5, dtype=part.label_dtype)
    part.read(at, *read, None)
    assert torch.equal(read[0], inputs[at])
    assert torch.equal(read[1], labels[at])


def test_both_loops_can_be_timed():
    objective = make_digits()
    assert all(
        math.isfinite(seconds) and seconds > 0
        for seconds in (hooke_seconds(objective, 20), plain_seconds(objective, 20))
    )
