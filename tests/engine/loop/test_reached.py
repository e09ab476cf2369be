"""The server's account of the steps of its workers, against sums over all of them."""

import numpy as np
from hooke.loop.reached import Reached


def test_the_steps_of_all_are_those_since_each_began_whatever_is_told():
    """Also of an attempt that goes on from a checkpoint, and where an update does not arrive and steps go back."""
    random, reached, began, told = np.random.default_rng(0), Reached(), {}, {}
    for worker in random.integers(0, 6, 400).tolist():
        step = told.get(worker, 100 * worker) + int(random.integers(0, 4))
        if worker in told and random.random() < 0.1:
            step = max(began[worker], told[worker] - 3)
        began.setdefault(worker, step)
        told[worker] = step
        reached[worker] = step
        assert reached == told
        assert reached.done == sum(told[each] - began[each] for each in told)
        assert reached.of(worker) == step - began[worker]
    assert min(began.values()) < 4 < 500 <= max(began.values()), "steps before the attempt do not count"
