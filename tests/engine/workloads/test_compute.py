"""How an Objective computes: precision, own generators, batch statistics, reading ahead; against plain PyTorch."""

import copy

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place
from hooke.errors import CheckpointError, DataInvalid, LaunchError
from hooke.objective import device
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.models.resnet import resnet
from hooke.objective.samples import Mapped, Samples
from hooke.objective.scorer import STATISTICS_SAMPLES
from hooke.spec.specification import Compute
from torch import nn
from torch.nn import functional


def images(count: int, seed: int, channels: int = 3, side: int = 8, **augment) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    shape = (count, channels, side, side)
    pixels = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    return Samples(pixels, torch.randint(0, 10, (count,), generator=generator), 1 / 255, **augment)


def tiny() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.4), nn.Linear(4 * 36, 10)
    )


def make(seed: int = 0, rank: int = 0, model=tiny, train: Samples | None = None, **options) -> FlatObjective:
    place = Place(Compute(device="cpu", **options), seed, rank)
    return FlatObjective(
        model, train or images(70, 1, crop=2, flip=True), images(9, 3), validation=images(30, 2), place=place
    )


def train(objective: FlatObjective, weights: torch.Tensor, first: int, last: int, lr: float = 0.05) -> None:
    gradient = objective.allocate()
    objective.bind(weights, gradient)
    for step in range(first, last):
        objective.gradient(objective.pick(np.random.default_rng(step).integers(0, objective.train_size, 16)))
        weights.add_(gradient, alpha=-lr)


def test_the_same_weights_as_a_plain_loop_with_torch_optim():
    objective = make(model=lambda: resnet(1), train=images(70, 1))
    weights = objective.initial(3)
    model = resnet(1)
    model.load_state_dict(objective.views(weights.clone()), strict=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = objective.train
    for step in range(5):
        index = torch.from_numpy(np.random.default_rng(step).integers(0, 70, 16))
        optimizer.zero_grad()
        functional.cross_entropy(model(data.inputs[index].float() / 255), data.labels[index]).backward()
        optimizer.step()
    train(objective, weights, 0, 5)
    plain = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    torch.testing.assert_close(weights, plain, rtol=1e-3, atol=1e-5)
    for (name, ours), theirs in zip(objective.model.named_buffers(), model.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, msg=name)


def test_gradient_agrees_with_finite_differences_in_double_precision():
    objective = make(model=lambda: resnet(1), train=images(70, 1))
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    batch = objective.pick(range(12))
    objective.gradient(batch)
    model = copy.deepcopy(resnet(1)).double().train()
    x, labels = batch.inputs.double(), batch.labels
    direction = torch.randn(weights.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def loss_at(h: float) -> float:
        shifted = weights.double() + h * direction
        views = {p.name: shifted[p.start : p.stop].view(p.shape) for p in objective.layout}
        return float(functional.cross_entropy(torch.func.functional_call(model, views, (x,)), labels))

    with torch.no_grad():
        slope = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6
    assert float(gradient.double() @ direction) == pytest.approx(slope, rel=1e-3)


def test_bf16_is_close_to_fp32_and_weights_stay_fp32():
    results = {}
    for precision in ("fp32", "bf16"):
        objective = FlatObjective(
            lenet, images(64, 1, 1, 28), images(9, 3, 1, 28), "linear",
            validation=images(40, 2, 1, 28), place=Place(Compute(device="cpu", precision=precision)),
        )  # fmt: skip
        weights, gradient = objective.initial(0), objective.allocate()
        objective.bind(weights, gradient)
        objective.gradient(objective.pick(range(32)))
        assert weights.dtype == gradient.dtype == torch.float32
        results[precision] = gradient, objective.evaluate(weights, 0, 40)
        assert precision in objective.notes["precision"]
    full, half = results["fp32"][0], results["bf16"][0]
    assert not torch.equal(full, half), "bf16 did nothing"
    assert float(nn.functional.cosine_similarity(full, half, dim=0)) > 0.99
    assert results["bf16"][1].loss_sum == pytest.approx(results["fp32"][1].loss_sum, rel=0.02)


def test_bf16_is_autocast():
    """The shadow weights are a shortcut: the same bits as PyTorch's autocast over fp32 parameters."""
    objective = make(model=lambda: resnet(1), train=images(70, 1), precision="bf16")
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    batch = objective.pick(range(16))
    loss = objective.gradient(batch)
    model = resnet(1).train()
    model.load_state_dict(objective.views(weights.clone()), strict=False)
    with torch.autocast("cpu", torch.bfloat16):
        output = model(batch.inputs)
    truth = functional.cross_entropy(output.float(), batch.labels)
    truth.backward()
    assert loss == truth.item()
    assert torch.equal(gradient, torch.cat([p.grad.reshape(-1) for p in model.parameters()]))


def test_a_restored_worker_goes_on_bitwise():
    straight = make(seed=5, rank=2)
    weights = straight.initial(0)
    train(straight, weights, 0, 4)
    kept, state = weights.clone(), straight.local_state()
    train(straight, weights, 4, 8)
    assert all(isinstance(value, np.ndarray) for value in state.values())
    restored = make(seed=5, rank=2)
    restored.restore_local(state)
    train(restored, kept, 4, 8)
    assert torch.equal(kept, weights)
    for name, value in restored.local_state().items():
        assert np.array_equal(value, straight.local_state()[name]), name
    forgetful = make(seed=5, rank=2)
    lost = straight.initial(0)
    train(forgetful, lost, 0, 4)
    forgetful.restore_local(forgetful.local_state() | {"drawn": np.zeros(2, np.int64)})
    train(forgetful, lost, 4, 8)
    assert not torch.equal(lost, weights), "augmentation and dropout do not depend on their counters"


def test_the_local_state_of_another_model_is_refused():
    with pytest.raises(CheckpointError, match="another workload"):
        make().restore_local(make(model=lambda: resnet(1)).local_state())


def test_workers_draw_apart_and_nobody_draws_from_the_global_generator():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    found = {}
    for rank in (0, 1, 0):
        objective = make(rank=rank)
        weights = objective.initial(0)
        train(objective, weights, 0, 2)
        assert rank not in found or torch.equal(found[rank], weights)
        found[rank] = weights
    assert not torch.equal(found[0], found[1])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_that_draws_from_the_global_generator_is_refused():
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(192, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(functional.dropout(x.flatten(1), 0.5, self.training))

    objective = make(model=Noisy)
    with pytest.raises(DataInvalid, match="global generator"):
        objective.gradient(objective.pick(range(4)))


def test_augmentation_is_a_window_of_the_padded_image_or_its_mirror_image():
    source = images(20, 4, crop=2, flip=True)
    rows, labels = torch.empty(20, 8, 8, 3, dtype=torch.uint8), torch.empty(20, dtype=torch.int64)
    source.read(torch.arange(20), rows, labels, np.random.default_rng(0))
    mirrored = moved = 0
    for row, image in zip(rows, source.inputs.permute(0, 2, 3, 1), strict=True):
        padded = functional.pad(image, (0, 0, 2, 2, 2, 2))
        windows = [padded[y : y + 8, x : x + 8] for y in range(5) for x in range(5)]
        plain = any(torch.equal(row, w) for w in windows)
        flipped = any(torch.equal(row, w.flip(1)) for w in windows)
        assert plain or flipped
        mirrored, moved = mirrored + flipped, moved + (not torch.equal(row, image))
    assert 4 < mirrored < 16
    assert moved > 10


def test_batch_statistics_of_evaluation_are_renewed_from_fixed_training_samples():
    count = STATISTICS_SAMPLES + 500
    objective = make(train=images(count, 1, crop=2, flip=True))
    weights = objective.initial(0)
    other = objective.initial(1)
    fresh = objective.evaluate(other, 0, 30)
    train(objective, weights, 0, 3)
    own = {k: v.copy() for k, v in objective.local_state().items()}
    assert objective.evaluate(other, 0, 30) == fresh, "the score depends on what the worker did"
    assert objective.evaluate(other, 0, 11).correct + objective.evaluate(other, 11, 30).correct == fresh.correct
    assert all(np.array_equal(own[k], v) for k, v in objective.local_state().items())
    # by hand: mean over batches of 256 of each batch's mean and variance
    views = objective.views(other)
    at = torch.arange(STATISTICS_SAMPLES) * count // STATISTICS_SAMPLES
    x = objective.train.inputs[at].float() / 255
    maps = functional.conv2d(x, views["0.weight"], views["0.bias"])
    mean = torch.stack([part.mean((0, 2, 3)) for part in maps.split(256)]).mean(0)
    variance = torch.stack([part.var((0, 2, 3)) for part in maps.split(256)]).mean(0)
    held = objective.validation
    y = functional.conv2d(held.inputs.float() / 255, views["0.weight"], views["0.bias"])
    y = functional.batch_norm(y, mean, variance, views["1.weight"], views["1.bias"])
    out = functional.linear(functional.relu(y).flatten(1), views["5.weight"], views["5.bias"])
    assert fresh.loss_sum == pytest.approx(
        float(functional.cross_entropy(out, held.labels, reduction="sum")), rel=1e-5
    )


class Squares:
    """A map-style data set."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int):
        return torch.full((3, 8, 8), index / 40), index % 10


def test_reading_ahead_changes_nothing():
    batches = [np.random.default_rng(i).integers(0, 40, 8) for i in range(6)]
    seen = []
    for ahead in (False, True):
        whole = Mapped(Squares()), Mapped(Squares())
        objective = FlatObjective(tiny, *whole, validation=whole[0], place=Place(Compute(device="cpu")))
        assert objective.reads_ahead
        found = []
        for now, after in zip(batches, [*batches[1:], batches[0]], strict=True):
            batch = objective.pick(now)
            if ahead:
                objective.prefetch(after)
            found.append((batch.inputs.clone(), batch.labels.clone()))
        objective.close()
        seen.append(found)
    for (x, a), (y, b), at in zip(*seen, batches, strict=True):
        assert torch.equal(x, y)
        assert torch.equal(a, b)
        assert a.tolist() == [i % 10 for i in at]
        assert x[:, 0, 0, 0].tolist() == pytest.approx([i / 40 for i in at])


def test_what_was_read_ahead_in_vain_is_not_used():
    whole = Mapped(Squares()), Mapped(Squares())
    objective = FlatObjective(tiny, *whole, validation=whole[0], place=Place(Compute(device="cpu")))
    objective.prefetch([1, 2, 3])
    assert objective.pick([4, 5, 6]).labels.tolist() == [4, 5, 6]
    objective.close()


def test_devices(monkeypatch):
    assert device.choose(Compute(device="cpu"), 3).type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.choose(Compute(), 3).type == "cpu"
    with pytest.raises(LaunchError, match="no CUDA device"):
        device.choose(Compute(device="cuda"), 0)
    for name in device.LOCAL_RANK:
        monkeypatch.delenv(name, raising=False)
    assert device.local_rank(5) == 5
    monkeypatch.setenv("MPI_LOCALRANKID", "2")
    assert device.local_rank(5) == 2
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert device.choose(Compute(), 5) == torch.device("cuda", 0)
    assert chosen == [torch.device("cuda", 0)]


def test_threads():
    assert device.threads(Compute(threads=3)) == 3
    assert device.threads(Compute(threads="group")) >= 1
    assert make().notes["threads"] == "1"
    assert torch.get_num_threads() == 1
