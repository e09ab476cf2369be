"""The deep models learn, at full depth: on small images of a few classes, through the compute path of a run."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.objective.flat import FlatObjective
from hooke.objective.models.googlenet import WITH_AUXILIARIES, GoogLeNet
from hooke.objective.models.resnet import resnet
from hooke.objective.models.vgg import vgg19
from hooke.objective.samples import Samples
from hooke.objective.task import CLASSES

KINDS = 4
"""Classes: each is a pattern of its own under noise as strong as the pattern."""


def images(count: int, seed: int) -> Samples:
    """Return uint8 images (count, 3, 32, 32), their classes in turn, normalised to about one."""
    patterns = torch.randn(KINDS, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    patterns = torch.nn.functional.interpolate(patterns, size=32, mode="bilinear")
    labels = torch.arange(count) % KINDS
    noise = torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(seed))
    pixels = (128 + 40 * (patterns[labels] + 0.7 * noise)).clamp(0, 255).to(torch.uint8)
    return Samples(pixels, labels, 1 / 64, -2.0)


def test_resnet20_learns(tmp_path):
    """Sequential SGD on 128 images; evaluated on 64 others, with batch statistics made anew."""
    spec = validate_run(
        {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": "sgd", "parameters": {"lr": 0.05, "momentum": 0.9}},
            "batch": 16,
            "workers": 1,
            "seed": 1,
            "world": "virtual",
            "virtual": {},
            "budget": {"samples": 16 * 20},
            "evaluation": {"every": 16 * 20},
        }
    )
    (outcome,) = run_spec_virtual(
        spec,
        None,
        lambda: FlatObjective(
            lambda: resnet(3, KINDS), images(128, 1), images(9, 3), "relu", validation=images(64, 2)
        ),
    )
    first, last = outcome.evaluations
    assert (first.samples, last.samples) == (0, 320)
    assert outcome.weights.size == 269_722 - 6 * 65
    assert first.accuracy < 0.5
    assert last.accuracy > 0.9
    assert last.loss < 0.4 * first.loss


def blank(make):
    """Return a function that makes the model without drawing weights, which `initial` draws anyway."""

    def made() -> torch.nn.Module:
        with torch.device("meta"):
            model = make()
        return model.to_empty(device="cpu")

    return made


@pytest.mark.parametrize(
    ("make", "task", "lr", "steps"),
    [
        (lambda: GoogLeNet(KINDS, dropout=0.0), WITH_AUXILIARIES, 0.005, 9),
        (lambda: vgg19(KINDS, dropout=0.0), CLASSES, 0.002, 3),
    ],
    ids=["googlenet", "vgg19"],
)
def test_a_deep_model_descends(make, task, lr, steps):
    """At full depth and width, on 8 images of 32 x 32 pixels, the smallest that it takes, by plain steps."""
    few = images(8, 1)
    objective = FlatObjective(blank(make), few, few, "relu", validation=few, task=task)
    weights, gradient = objective.initial(1), objective.allocate()
    objective.bind(weights, gradient)
    before = objective.evaluate(weights, 0, 8).loss_sum
    for _ in range(steps):
        objective.gradient(objective.pick(np.arange(8)))
        weights.add_(gradient, alpha=-lr)
    after = objective.evaluate(weights, 0, 8).loss_sum
    assert after < 0.85 * before  # 0.50 and 0.70 of it; at the learning rate 0, all of it
