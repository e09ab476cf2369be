"""The bundled workloads: what they promise in their documentation, checked."""

import hashlib
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from hooke.catalogue.discovery import built_in, everything
from hooke.catalogue.workload import catalogue, workload
from hooke.objective.models.lenet import lenet
from hooke.workloads import digits_mlp
from hooke.workloads.mnist_lenet import MnistLenet
from pydantic import ValidationError


def test_ids():
    assert {
        "cifar-alexnet", "cifar-resnet20", "digits-mlp", "fashion-lenet", "imagenet-googlenet", "imagenet-vgg19",
        "mnist-lenet", "text-transformer",
    } <= set(catalogue())  # fmt: skip


def test_every_workload_has_a_row_in_the_documentation():
    page = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text()
    assert [name for name in built_in("workload") if f"\n| `{name}` |" not in page] == []


def test_a_target_is_the_documented_one_and_called_an_expectation_where_nobody_has_measured_it():
    page = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text()
    rows = {line.split("`")[1]: line for line in page.splitlines() if re.match(r"\| `.* \d+ %", line)}
    expected = set()
    for name in built_in("workload"):
        cls = catalogue()[name]
        assert f"{round(100 * cls.target)} %" in rows[name]
        if "not measured" in rows[name]:
            expected.add(name)
            assert f"Target: {round(100 * cls.target)} %, an expectation, not measured" in (cls.__doc__ or "")
        else:
            assert "expectation" not in (cls.__doc__ or "")
    assert expected == set(built_in("workload")) - {"digits-mlp", "mnist-lenet", "fashion-lenet", "xmlc-mlp"}


def test_listing_workloads_imports_neither_torch_nor_numpy():
    code = (
        "import sys, hooke.catalogue.discovery as d; d.everything();"
        "print([m for m in ('torch', 'mpi4py', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_descriptions_are_plain_data_with_documented_fields():
    for item in json.loads(json.dumps(everything()["workloads"])):
        assert item["title"]
        for word in ("Data", "Model", "Loss", "icence"):
            assert word in item["documentation"], (item["name"], word)
        assert 0 < item["target"] < 1
        for field in item["schema"].get("properties", {}).values():
            assert field["title"]
            assert field["description"]


def test_digits_are_the_published_file():
    raw = (files("hooke.workloads") / "data" / "digits.csv.gz").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
    train, test = digits_mlp.load()
    labels = torch.cat([train.labels, test.labels])
    # classes per digit as the documentation of scikit-learn's load_digits states
    assert torch.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    pixels = torch.cat([train.inputs, test.inputs])
    assert (int(pixels.min()), int(pixels.max()), len(pixels)) == (0, 16, 1797)


def test_the_split_is_fixed_and_a_partition():
    train, test = digits_mlp.split(1797)
    assert (len(train), len(test)) == (1437, 360)
    assert sorted(train + test) == list(range(1797))
    digest = hashlib.sha256(json.dumps([train, test]).encode()).hexdigest()
    assert digest == "94b87036025990f1ba0112f9e0a66228a8b08fc9a2f48017e73db67b97c4539b", (
        "results of different versions of the split must not be compared"
    )


def test_digits_parameters():
    assert digits_mlp.DigitsMLP().build().layout[-1].stop == 50_826
    small = digits_mlp.DigitsMLP(hidden1=5, hidden2=3).build()
    assert small.layout[-1].stop == 64 * 5 + 5 + 5 * 3 + 3 + 3 * 10 + 10
    for bad in ({"hidden1": 0}, {"hidden2": 10**9}, {"hidden3": 4}):
        with pytest.raises(ValidationError):
            workload("digits-mlp").model_validate(bad)


def test_plain_sgd_reaches_the_target_on_digits():
    objective = digits_mlp.DigitsMLP().build()
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    generator = torch.Generator().manual_seed(0)
    for _ in range(1000):
        objective.gradient(objective.pick(torch.randint(0, objective.train_size, (32,), generator=generator)))
        weights.add_(gradient, alpha=-0.1)
    score = objective.evaluate(weights, 0, objective.validation_size)
    assert score.correct / score.count >= digits_mlp.DigitsMLP.target


def test_lenet_is_caffes():
    sizes = [p.numel() for p in lenet().parameters()]
    assert sizes == [500, 20, 25_000, 50, 400_000, 500, 5_000, 10]
    assert sum(sizes) == 431_080


def test_real_fashion_mnist(data_root, monkeypatch):
    if not (data_root / "fashion-mnist").is_dir():
        pytest.skip(f"NOT TESTED HERE: {data_root} holds no fashion-mnist")
    monkeypatch.setenv("HOOKE_DATA", str(data_root))
    objective = workload("fashion-lenet")().build()
    published = objective.train.source
    assert torch.bincount(published.labels).tolist() == [6000] * 10
    assert torch.bincount(objective.test.labels).tolist() == [1000] * 10
    # the published mean and deviation of the training pixels, 0.2860 and 0.3530
    pixels = published.inputs[::10].float() / 255
    assert float(pixels.mean()) == pytest.approx(0.286, abs=0.005)
    assert float(pixels.std()) == pytest.approx(0.353, abs=0.005)


def test_real_mnist(mnist, monkeypatch):
    monkeypatch.setenv("HOOKE_DATA", str(mnist.parent))
    objective = MnistLenet().build()
    assert (objective.train_size, objective.validation_size, objective.test_size) == (54_000, 6_000, 10_000)
    assert objective.layout[-1].stop == 431_080
    assert torch.bincount(objective.train.source.labels).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert torch.bincount(objective.test.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    weights, gradient = objective.initial(0), objective.allocate()
    objective.bind(weights, gradient)
    generator = torch.Generator().manual_seed(0)
    for _ in range(150):
        objective.gradient(objective.pick(torch.randint(0, 54_000, (32,), generator=generator)))
        weights.add_(gradient, alpha=-0.05)
    score = objective.evaluate(weights, 0, 2000)
    assert score.correct / score.count > 0.85
