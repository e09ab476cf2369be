"""FlatProblem against plain PyTorch autograd, with separate tensors and no views."""

import math

import numpy as np
import pytest
import torch
from hooke.problem.flat import FlatProblem
from hooke.problem.models.lenet import lenet
from hooke.problem.samples import Samples, Subset
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


def make_lenet() -> FlatProblem:
    return FlatProblem(lenet, random_images(64, 1), random_images(300, 2), nonlinearity="linear")


def make_digits() -> FlatProblem:
    return DigitsMLP().build()


both = pytest.mark.parametrize("make", [make_digits, make_lenet])


def plain_forward(problem: FlatProblem, weights: torch.Tensor, inputs: torch.Tensor) -> tuple[list, torch.Tensor]:
    """The same nets written out with functional calls on separate leaf tensors."""
    leaves = [weights[p.start : p.stop].reshape(p.shape).clone().requires_grad_() for p in problem.layout]
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
    problem = make()
    weights, gradient = problem.initial(3), problem.allocate()
    problem.bind(weights, gradient)
    for step in range(3):
        batch = problem.pick(np.random.default_rng(step).integers(0, problem.train_size, 16))
        loss = problem.gradient(batch)
        leaves, out = plain_forward(problem, weights, batch.inputs.contiguous())
        truth = nn.functional.cross_entropy(out, batch.labels)
        truth.backward()
        flat = torch.cat([leaf.grad.reshape(-1) for leaf in leaves])
        assert loss == pytest.approx(truth.item(), rel=1e-5)
        torch.testing.assert_close(gradient, flat, rtol=1e-4, atol=1e-6)
        weights.add_(gradient, alpha=-0.1)


def test_gradient_agrees_with_a_finite_difference():
    problem = make_digits()
    weights, gradient = problem.initial(0), problem.allocate()
    problem.bind(weights, gradient)
    batch = problem.pick(range(64))
    direction = torch.randn(weights.shape, generator=torch.Generator().manual_seed(1))
    direction /= direction.norm()
    problem.gradient(batch)
    slope = float(gradient.double() @ direction.double())
    origin, h = weights.clone(), 0.02
    ends = []
    for sign in (1, -1):
        weights.copy_(origin).add_(direction, alpha=sign * h)
        ends.append(problem.gradient(batch))
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=2e-2, abs=1e-4)


@both
def test_vectors_are_aligned_contiguous_zeros_and_the_layout_tiles_them(make):
    problem = make()
    for _ in range(20):
        vector = problem.allocate()
        assert vector.data_ptr() % 64 == 0
        assert vector.is_contiguous()
        assert vector.dtype == torch.float32
        assert not vector.any()
    ends = [0]
    for part in problem.layout:
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
    problem = make_lenet()
    for name, view in problem.views(problem.initial(0)).items():
        if view.dim() == 1:
            assert not view.any(), name
        else:
            bound = math.sqrt(3 / view[0].numel())
            assert bound * 0.95 < view.abs().max() <= bound, name


@both
def test_evaluation_leaves_every_bit_of_a_worker_alone(make):
    problem = make()
    weights, gradient = problem.initial(0), problem.allocate()
    problem.bind(weights, gradient)
    batch = problem.pick(range(8))
    problem.gradient(batch)
    other = problem.initial(1)
    kept = [x.clone() for x in (weights, gradient, batch.inputs, batch.labels, other)]
    generator = torch.get_rng_state()
    scores = [problem.evaluate(other, 0, problem.validation_size) for _ in range(2)]
    assert scores[0] == scores[1]
    for now, then in zip((weights, gradient, batch.inputs, batch.labels, other), kept, strict=True):
        assert torch.equal(now, then)
    assert torch.equal(torch.get_rng_state(), generator)
    again = problem.gradient(batch)
    assert torch.equal(gradient, kept[1]), "the bound weights or gradient moved elsewhere"
    assert again == problem.gradient(batch)


def stored(source) -> tuple[torch.Tensor, torch.Tensor]:
    """All of a part's items as the model sees them, and their labels, cut out of the tensors that hold them."""
    if isinstance(source, Subset):
        inputs, labels = stored(source._source)
        return inputs[source._items], labels[source._items]
    return source.inputs.float() * source.scale, source.labels


@pytest.mark.parametrize("part", ["validation", "test"])
@both
def test_scores_of_shares_add_up_and_equal_plain_pytorch(make, part):
    problem = make()
    weights = problem.initial(0)
    held = {"validation": problem._validation, "test": problem._test}[part]
    size = {"validation": problem.validation_size, "test": problem.test_size}[part]
    whole = problem.evaluate(weights, 0, size, part)
    parts = [problem.evaluate(weights, size * i // 3, size * (i + 1) // 3, part) for i in range(3)]
    assert sum(p.count for p in parts) == whole.count == size
    assert sum(p.correct for p in parts) == whole.correct
    assert sum(p.loss_sum for p in parts) == pytest.approx(whole.loss_sum, rel=1e-6)
    inputs, labels = stored(held)
    out = plain_forward(problem, weights, inputs)[1].detach()
    assert whole.correct == int((out.argmax(1) == labels).sum())
    truth = nn.functional.cross_entropy(out, labels, reduction="sum")
    assert whole.loss_sum == pytest.approx(truth.item(), rel=1e-5)
    assert problem.evaluate(weights, 5, 5, part).count == 0


def test_bind_moves_to_other_vectors_and_back():
    problem = make_digits()
    a, b, gradient_a, gradient_b = problem.initial(0), problem.initial(1), problem.allocate(), problem.allocate()
    batch = problem.pick(range(32))
    problem.bind(a, gradient_a)
    problem.gradient(batch)
    first = gradient_a.clone()
    problem.bind(b, gradient_b)
    problem.gradient(batch)
    assert torch.equal(gradient_a, first)
    assert gradient_b.any()
    assert not torch.equal(gradient_b, first)
    problem.bind(a, gradient_b)
    problem.gradient(batch)
    assert torch.equal(gradient_b, first)


@both
def test_two_problems_of_one_process_compute_the_same_bits(make):
    results = []
    for _ in range(2):
        problem = make()
        weights, gradient = problem.initial(0), problem.allocate()
        problem.bind(weights, gradient)
        for step in range(10):
            problem.gradient(problem.pick(np.random.default_rng(step).integers(0, problem.train_size, 16)))
            weights.add_(gradient, alpha=-0.05)
        results.append(weights)
    assert torch.equal(*results)


def test_gradients_stay_in_place():
    problem = make_digits()
    gradient = problem.allocate()
    problem.bind(problem.initial(0), gradient)
    for _ in range(3):
        gradient.fill_(math.nan)  # whatever was there is overwritten, not added to
        problem.gradient(problem.pick(range(8)))
        assert torch.isfinite(gradient).all()
    for part, view in zip(problem.layout, problem._views, strict=True):
        assert view.data_ptr() == gradient.data_ptr() + 4 * part.start


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1293), min_size=1, max_size=70))
def test_pick_returns_the_asked_items(indices):
    problem = shared_digits()
    batch = problem.pick(indices)
    kept = [i for i in range(1437) if i not in rule(1437)]
    published = problem._train._source
    at = [kept[i] for i in indices]
    assert torch.equal(batch.inputs, published.inputs[at].float() / 16)
    assert torch.equal(batch.labels, published.labels[at])
    assert batch.inputs.data_ptr() == problem.pick(np.array(indices)).inputs.data_ptr(), "allocated anew"


DIGITS: list[FlatProblem] = []


def shared_digits() -> FlatProblem:
    if not DIGITS:
        DIGITS.append(make_digits())
    return DIGITS[0]


def test_wrong_vectors_are_refused():
    problem = shared_digits()
    size = problem.layout[-1].stop
    for wrong in (torch.zeros(size + 1), torch.zeros(size, dtype=torch.float64), torch.zeros(2 * size)[::2]):
        with pytest.raises(ValueError, match="contiguous float32"):
            problem.bind(wrong, problem.allocate())
    with pytest.raises(TypeError):
        problem.bind(np.zeros(size, dtype=np.float32), problem.allocate())


def test_running_statistics_stay_with_the_rank():
    def net() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.BatchNorm1d(10))

    problem = FlatProblem(net, random_images(64, 1), random_images(9, 3), validation=random_images(50, 2))
    assert problem.layout[-1].stop == 784 * 10 + 10 + 10 + 10
    weights = problem.initial(0)
    problem.bind(weights, problem.allocate())
    problem.views(weights)["2.weight"].fill_(1)
    problem.gradient(problem.pick(range(32)))
    own = [b.clone() for b in problem._model.buffers()]
    assert problem.evaluate(weights, 0, 50) == problem.evaluate(weights, 0, 50)
    for now, then in zip(problem._model.buffers(), own, strict=True):
        assert torch.equal(now, then), "evaluation moved the running statistics"
