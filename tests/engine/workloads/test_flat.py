"""FlatObjective against plain PyTorch autograd, with separate tensors and no views."""

import math

import numpy as np
import pytest
import torch
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.samples import Samples, Subset
from hooke.workloads.digits_mlp import DigitsMLP
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.engine.workloads.test_parts import rule


def random_images(count: int, seed: int) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    return Samples(
        torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=generator),
        torch.randint(0, 10, (count,), generator=generator),
        1 / 256,
    )


def make_lenet() -> FlatObjective:
    return FlatObjective(lenet, random_images(64, 1), random_images(300, 2), nonlinearity="linear")


def make_digits() -> FlatObjective:
    return DigitsMLP().build()


both = pytest.mark.parametrize("make", [make_digits, make_lenet])


def plain_forward(
    objective: FlatObjective, weights: torch.Tensor, inputs: torch.Tensor
) -> tuple[list, torch.Tensor]:
    """The same nets written out with functional calls on separate leaf tensors."""
    leaves = [weights[p.start : p.stop].reshape(p.shape).clone().requires_grad_() for p in objective.layout]
    f = nn.functional
    if len(leaves) == 6:
        a, b, c, d, e, g = leaves
        out = f.linear(f.relu(f.linear(f.relu(f.linear(inputs, a, b)), c, d)), e, g)
    else:
        k1, b1, k2, b2, w3, b3, w4, b4 = leaves
        x = f.max_pool2d(f.conv2d(inputs, k1, b1), 2)
        x = f.max_pool2d(f.conv2d(x, k2, b2), 2).reshape(len(inputs), -1)
        out = f.linear(f.relu(f.linear(x, w3, b3)), w4, b4)
    return leaves, out


@both
def test_gradient_equals_plain_autograd(make):
    objective = make()
    weights, gradient = objective.initial(3), objective.allocate()
    objective.bind(weights, gradient)
    for step in range(3):
        batch = objective.pick(np.random.default_rng(step).integers(0, objective.train_size, 16))
        loss = objective.gradient(batch)
        leaves, out = plain_forward(objective, weights, batch.inputs.contiguous())
        truth = nn.functional.cross_entropy(out, batch.labels)
        truth.backward()
        flat = torch.cat([leaf.grad.reshape(-1) for leaf in leaves])
        assert loss == pytest.approx(truth.item(), rel=1e-5)
        torch.testing.assert_close(gradient, flat, rtol=1e-4, atol=1e-6)
        weights.add_(gradient, alpha=-0.1)


def test_gradient_agrees_with_a_finite_difference():
    objective = make_digits()
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    batch = objective.pick(range(64))
    direction = torch.randn(weights.shape, generator=torch.Generator().manual_seed(1))
    direction /= direction.norm()
    objective.gradient(batch)
    slope = float(gradient.double() @ direction.double())
    origin, h = weights.clone(), 0.02
    ends = []
    for sign in (1, -1):
        weights.copy_(origin).add_(direction, alpha=sign * h)
        ends.append(objective.gradient(batch))
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=2e-2, abs=1e-4)


@both
def test_vectors_are_aligned_contiguous_zeros_and_the_layout_tiles_them(make):
    objective = make()
    for _ in range(20):
        vector = objective.allocate()
        assert vector.data_ptr() % 64 == 0
        assert vector.is_contiguous()
        assert vector.dtype == torch.float32
        assert not vector.any()
    ends = [0]
    for part in objective.layout:
        assert part.start == ends[-1]
        assert part.stop - part.start == math.prod(part.shape)
        ends.append(part.stop)
    assert ends[-1] == vector.numel()


@both
def test_nothing_but_the_seed_decides_the_start(make):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first = make().initial(5)
    assert torch.equal(torch.get_rng_state(), before), "the global generator was touched"
    torch.manual_seed(12)
    assert torch.equal(make().initial(5), first)
    assert not torch.equal(make().initial(6), first)


def test_start_follows_kaimings_bounds():
    objective = make_lenet()
    for name, view in objective.views(objective.initial(0)).items():
        if view.dim() == 1:
            assert not view.any(), name
        else:
            bound = math.sqrt(3 / view[0].numel())
            assert bound * 0.95 < view.abs().max() <= bound, name


@both
def test_evaluation_leaves_every_bit_of_a_worker_alone(make):
    objective = make()
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    batch = objective.pick(range(8))
    objective.gradient(batch)
    other = objective.initial(1)
    kept = [x.clone() for x in (weights, gradient, batch.inputs, batch.labels, other)]
    generator = torch.get_rng_state()
    scores = [objective.evaluate(other, 0, objective.validation_size) for _ in range(2)]
    assert scores[0] == scores[1]
    for now, then in zip((weights, gradient, batch.inputs, batch.labels, other), kept, strict=True):
        assert torch.equal(now, then)
    assert torch.equal(torch.get_rng_state(), generator)
    again = objective.gradient(batch)
    assert torch.equal(gradient, kept[1]), "the bound weights or gradient moved elsewhere"
    assert again == objective.gradient(batch)


def stored(source) -> tuple[torch.Tensor, torch.Tensor]:
    """All of a part's items as the model sees them, and their labels, cut out of the tensors that hold them."""
    if isinstance(source, Subset):
        inputs, labels = stored(source.source)
        return inputs[source.items], labels[source.items]
    return source.inputs.float() * source.scale, source.labels


@pytest.mark.parametrize("part", ["validation", "test"])
@both
def test_scores_of_shares_add_up_and_equal_plain_pytorch(make, part):
    objective = make()
    weights = objective.initial(0)
    held = {"validation": objective.validation, "test": objective.test}[part]
    size = {"validation": objective.validation_size, "test": objective.test_size}[part]
    whole = objective.evaluate(weights, 0, size, part)
    parts = [objective.evaluate(weights, size * i // 3, size * (i + 1) // 3, part) for i in range(3)]
    assert sum(p.count for p in parts) == whole.count == size
    assert sum(p.correct for p in parts) == whole.correct
    assert sum(p.loss_sum for p in parts) == pytest.approx(whole.loss_sum, rel=1e-6)
    inputs, labels = stored(held)
    out = plain_forward(objective, weights, inputs)[1].detach()
    assert whole.correct == int((out.argmax(1) == labels).sum())
    truth = nn.functional.cross_entropy(out, labels, reduction="sum")
    assert whole.loss_sum == pytest.approx(truth.item(), rel=1e-5)
    assert objective.evaluate(weights, 5, 5, part).count == 0


def test_bind_moves_to_other_vectors_and_back():
    objective = make_digits()
    a, b, gradient_a, gradient_b = (
        objective.initial(0),
        objective.initial(1),
        objective.allocate(),
        objective.allocate(),
    )
    batch = objective.pick(range(32))
    objective.bind(a, gradient_a)
    objective.gradient(batch)
    first = gradient_a.clone()
    objective.bind(b, gradient_b)
    objective.gradient(batch)
    assert torch.equal(gradient_a, first)
    assert gradient_b.any()
    assert not torch.equal(gradient_b, first)
    objective.bind(a, gradient_b)
    objective.gradient(batch)
    assert torch.equal(gradient_b, first)


@both
def test_two_objectives_of_one_process_compute_the_same_bits(make):
    results = []
    for _ in range(2):
        objective = make()
        weights, gradient = objective.initial(0), objective.allocate()
        objective.bind(weights, gradient)
        for step in range(10):
            objective.gradient(objective.pick(np.random.default_rng(step).integers(0, objective.train_size, 16)))
            weights.add_(gradient, alpha=-0.05)
        results.append(weights)
    assert torch.equal(*results)


def test_gradients_stay_in_place():
    objective = make_digits()
    gradient = objective.allocate()
    objective.bind(objective.initial(0), gradient)
    for _ in range(3):
        gradient.fill_(math.nan)  # whatever was there is overwritten, not added to
        objective.gradient(objective.pick(range(8)))
        assert torch.isfinite(gradient).all()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1293), min_size=1, max_size=70))
def test_pick_returns_the_asked_items(indices):
    objective = shared_digits()
    batch = objective.pick(indices)
    kept = [i for i in range(1437) if i not in rule(1437)]
    published = objective.train.source
    at = [kept[i] for i in indices]
    assert torch.equal(batch.inputs, published.inputs[at].float() / 16)
    assert torch.equal(batch.labels, published.labels[at])
    assert batch.inputs.data_ptr() == objective.pick(np.array(indices)).inputs.data_ptr(), "allocated anew"


DIGITS: list[FlatObjective] = []


def shared_digits() -> FlatObjective:
    if not DIGITS:
        DIGITS.append(make_digits())
    return DIGITS[0]


def test_wrong_vectors_are_refused():
    objective = shared_digits()
    size = objective.layout[-1].stop
    for wrong in (torch.zeros(size + 1), torch.zeros(size, dtype=torch.float64), torch.zeros(2 * size)[::2]):
        with pytest.raises(ValueError, match="contiguous float32"):
            objective.bind(wrong, objective.allocate())
    with pytest.raises(TypeError):
        objective.bind(np.zeros(size, dtype=np.float32), objective.allocate())


def test_running_statistics_stay_with_the_rank():
    def net() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.BatchNorm1d(10))

    objective = FlatObjective(net, random_images(64, 1), random_images(9, 3), validation=random_images(50, 2))
    assert objective.layout[-1].stop == 784 * 10 + 10 + 10 + 10
    weights = objective.initial(0)
    objective.bind(weights, objective.allocate())
    objective.views(weights)["2.weight"].fill_(1)
    objective.gradient(objective.pick(range(32)))
    own = [b.clone() for b in objective.model.buffers()]
    assert objective.evaluate(weights, 0, 50) == objective.evaluate(weights, 0, 50)
    for now, then in zip(objective.model.buffers(), own, strict=True):
        assert torch.equal(now, then), "evaluation moved the running statistics"
