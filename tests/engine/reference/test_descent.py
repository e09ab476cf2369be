"""The reference of averaging methods is itself checked: against PyTorch's optimizers, and at its limits."""

import numpy as np
import pytest
import torch

from tests.engine.reference import descent
from tests.engine.reference.descent import Adam, Momentum

SIZE, STEPS = 6, 24


def pulls(seed: int, workers: int):
    """Return gradient(i, t, x) = x - b_i - noise_{i,t} with everything recorded beforehand."""
    random = np.random.default_rng(seed)
    b, noise = random.normal(size=(workers, SIZE)), random.normal(scale=0.3, size=(workers, STEPS, SIZE))
    return lambda i, t, x: x - b[i] - noise[i, t]


def with_torch(make, gradient):
    x = torch.ones(SIZE, dtype=torch.float64, requires_grad=True)
    optimizer = make([x])
    for t in range(STEPS):
        x.grad = torch.from_numpy(gradient(0, t, x.detach().numpy().copy()))
        optimizer.step()
    return x.detach().numpy()


def test_adam_is_pytorchs_adamw():
    gradient, x, step = pulls(1, 1), np.ones(SIZE), Adam(0.03, 0.1)
    for t in range(STEPS):
        x = step.apply(x, gradient(0, t, x))
    torchs = with_torch(lambda p: torch.optim.AdamW(p, lr=0.03, weight_decay=0.1), gradient)
    np.testing.assert_allclose(x, torchs, atol=1e-12)


def test_heavy_ball_is_pytorchs_momentum():
    gradient = pulls(1, 1)
    x = descent.sync_sgd(np.ones(SIZE), gradient, Momentum(0.1, 0.8), STEPS, 1)
    np.testing.assert_allclose(x, with_torch(lambda p: torch.optim.SGD(p, 0.1, 0.8), gradient), atol=1e-12)


def test_the_outer_step_is_pytorchs_nesterov():
    center, gradient, c = descent.nesterov_step(0.7, 0.9), pulls(1, 1), np.ones(SIZE)
    for t in range(STEPS):
        c = center(c, c - gradient(0, t, c))  # the workers' mean, moved so that D is this gradient
    torchs = with_torch(lambda p: torch.optim.SGD(p, 0.7, 0.9, nesterov=True), gradient)
    np.testing.assert_allclose(c, torchs, atol=1e-9)


def test_nesterovs_momentum_at_the_look_ahead_point():
    """Two steps by hand: the first has no velocity, the second looks ahead by mu v."""
    gradient, lr, mu = pulls(1, 1), 0.1, 0.8
    x = descent.sync_sgd(np.ones(SIZE), gradient, Momentum(lr, mu, nesterov=True), 2, 1)
    v = -lr * gradient(0, 0, np.ones(SIZE))
    one = np.ones(SIZE) + v
    np.testing.assert_allclose(x, one + mu * v - lr * gradient(0, 1, one + mu * v), atol=1e-15)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_limits(workers):
    gradient, start = pulls(2, workers), np.ones(SIZE)

    def steps():
        return [Momentum(0.1, 0.5) for _ in range(workers)]

    local = descent.local_sgd(start, gradient, steps(), 3, STEPS)[1]
    for center in (descent.slow_step(0.0, 1.0, lambda: 0.1), descent.nesterov_step(1.0, 0.0)):
        np.testing.assert_allclose(descent.outer(start, gradient, steps(), 3, STEPS, center)[1], local, atol=1e-12)
    sync = descent.sync_sgd(start, gradient, Momentum(0.1), STEPS, workers)
    plain = [Momentum(0.1) for _ in range(workers)]
    np.testing.assert_allclose(descent.local_sgd(start, gradient, plain, 1, STEPS)[1], sync, atol=1e-12)
    late = descent.local_sgd(start, gradient, plain, 3, STEPS, switch=STEPS)[1]
    np.testing.assert_allclose(late, sync, atol=1e-12)
    basis = [np.random.default_rng(3).normal(size=(3, 2))]
    thin = descent.powersgd(start, gradient, Momentum(0.1), STEPS, workers, ((2, 3),), basis)
    np.testing.assert_allclose(thin, sync, atol=1e-9)


@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("mu", [0.0, 0.6])
def test_one_pushing_worker_is_sequential(period, mu):
    """With momentum at the worker any period, without momentum at the server too."""
    gradient, start = pulls(2, 1), np.ones(SIZE)
    order = [0] * (STEPS // period + 1)
    yardstick = descent.sync_sgd(start, gradient, Momentum(0.1, mu), STEPS, 1)
    for at in ("worker", "master") if not mu or period == 1 else ("worker",):
        c = descent.async_sgd(start, gradient, 0.1, period, order, [STEPS], mu, at=at)[1]
        np.testing.assert_allclose(c, yardstick, atol=1e-12)


def test_a_lost_last_push_is_refused():
    with pytest.raises(ValueError, match="never pushed"):
        descent.async_sgd(np.ones(SIZE), pulls(2, 1), 0.1, 1, [0, 0], [2])
