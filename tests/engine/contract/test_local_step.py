"""The local step with momentum, in pieces: the same bits as in one piece, and the numbers of float64."""

from types import SimpleNamespace

import pytest
import torch
from hooke.methods.descent import LocalStep
from hooke.methods.pieces import PIECE

LR, MU = 0.07, 0.9


@pytest.mark.parametrize("size", [1, 7, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_in_pieces_is_momentum(size, nesterov):
    generator = torch.Generator().manual_seed(size)
    x = torch.randn(size, generator=generator)
    rank = SimpleNamespace(params=x.clone(), state=lambda _: torch.zeros(size), buffer=torch.empty_like)
    step = LocalStep(rank, LR, MU, nesterov)
    whole, velocity = x.clone(), torch.zeros(size)
    exact, speed = x.double(), torch.zeros(size, dtype=torch.float64)
    for _ in range(3):
        ahead = whole + MU * velocity if nesterov else whole
        assert torch.allclose(step.point(), ahead, rtol=1e-6, atol=1e-6)
        g = torch.randn(size, generator=generator)
        step.apply(g, parts=2)
        velocity.mul_(MU).add_(g, alpha=-LR / 2)
        whole.add_(velocity)
        speed = MU * speed - LR / 2 * g.double()
        exact = exact + speed
        assert torch.equal(rank.params, whole)
        assert torch.allclose(rank.params.double(), exact, rtol=0, atol=1e-5)
