"""A user's own workload: the file becomes a form, it trains in the product, and faults name file and line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hooke.catalogue import algorithm, workload
from hooke.catalogue import discovery as catalogue
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place
from hooke.errors import DataInvalid, NotFound
from hooke.loop.train import run_spec_virtual
from hooke.objective.own_workload import from_file, from_module, is_own
from hooke.spec.specification import Compute
from pydantic import ValidationError
from torch import nn

EXAMPLE = Path(__file__).parents[3] / "examples" / "own" / "workloads" / "two_spirals.py"
CPU = Place(Compute(device="cpu"))

GOOD = '''
"""Points on a line."""
from typing import Annotated, Literal
from pydantic import Field
import torch

target = 0.5

def model(*, width: int = 3, kind: Literal["a", "b"] = "a", rate: float | None = None):
    return torch.nn.Linear(2, width)

def data(points: Annotated[int, Field(ge=4, le=100), "How many."] = 10, seeded=True):
    x = torch.rand(points, 2)
    return (x, torch.zeros(points, dtype=torch.int32)), (x[:4].double(), torch.ones(4, dtype=torch.uint8))

def loss(output, target):
    return torch.nn.functional.cross_entropy(output, target)
'''


def write(tmp_path, text: str, name: str = "own.py") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_form_is_read_without_executing_the_file(tmp_path):
    path = write(tmp_path, GOOD + "\nraise SystemExit('executed')\n", "my_points.py")
    assert is_own(path)
    made = from_file(path)
    assert (made.id(), made.title(), made.target) == ("my-points", "Points on a line", 0.5)
    fields = made.model_json_schema()["properties"]
    assert list(fields) == ["width", "kind", "rate", "points", "seeded"]
    assert fields["points"] == {
        "default": 10, "minimum": 4, "maximum": 100, "title": "Points", "description": "How many.",
        "type": "integer",
    }  # fmt: skip
    assert fields["kind"]["enum"] == ["a", "b"]
    assert [kind["type"] for kind in fields["rate"]["anyOf"]] == ["number", "null"]
    assert fields["seeded"]["type"] == "boolean"
    assert made(points=9).model_dump()["points"] == 9
    for bad in ({"points": 3}, {"kind": "c"}, {"widht": 3}, {"width": "wide"}):
        with pytest.raises(ValidationError):
            made.model_validate(bad)
    with pytest.raises(SystemExit, match="executed"):
        made().build(CPU)


def test_reading_imports_no_torch():
    code = (
        "import sys; from pathlib import Path; from hooke.objective.own_workload import from_file;"
        f"from_file(Path({str(EXAMPLE)!r})).model_json_schema(); print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_functions_become_a_objective(tmp_path):
    made = from_file(write(tmp_path, GOOD))
    objective = made(points=12, width=4).build(CPU)
    assert (objective.train_size, objective.validation_size, objective.test_size) == (11, 1, 4)
    assert objective.layout[0].shape == (4, 2)
    assert objective.notes["workload"].endswith("own.py")
    weights = objective.initial(5)
    assert torch.equal(weights, made(points=12, width=4).build(CPU).initial(5))
    assert not torch.equal(weights, objective.initial(6))
    bound = 1 / 2**0.5  # nn.Linear's own initialisation, biases included
    assert 0 < weights.abs().max() <= bound
    assert weights[-4:].any()
    other = made(points=12, width=4).build(Place(Compute(device="cpu"), seed=3, rank=7))
    assert torch.equal(objective.pick(range(11)).inputs, other.pick(range(11)).inputs), "ranks saw different data"
    score = objective.evaluate(weights, 0, 4, "test")
    model = nn.Linear(2, 4)
    model.load_state_dict(objective.views(weights))
    out = model(objective.test.inputs).detach()
    assert score.correct == int((out.argmax(1) == 1).sum())
    assert score.loss_sum == pytest.approx(4 * float(nn.functional.cross_entropy(out, torch.ones(4).long())))


def test_the_file_of_the_documentation_is_a_workload(tmp_path):
    page = (EXAMPLE.parents[3] / "docs" / "workloads.md").read_text().partition("## Your own workload\n")[2]
    made = from_file(write(tmp_path, re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], "my_table.py"))
    assert (made.id(), made.title(), made.target) == ("my-table", "My table, two layers", 0.95)
    sizes = {"train": 40, "test": 10}
    inputs = {f"x_{part}": np.ones((n, 20), np.float32) for part, n in sizes.items()}
    np.savez(tmp_path / "table.npz", **inputs, **{f"y_{part}": np.arange(n) % 3 for part, n in sizes.items()})
    objective = made(file=str(tmp_path / "table.npz"), width=8).build(CPU)
    assert (objective.train_size, objective.validation_size, objective.test_size) == (36, 4, 10)


def test_a_validation_part_of_its_own(tmp_path):
    """With three parts nothing is split off; with two and fewer than ten items it is said what to do."""
    three = GOOD.replace("dtype=torch.int32)), (", "dtype=torch.int32)), (x[:3], torch.ones(3)), (")
    objective = from_file(write(tmp_path, three, "three.py"))(points=5).build(CPU)
    assert (objective.train_size, objective.validation_size, objective.test_size) == (5, 3, 4)
    assert "validation part" not in objective.notes
    with pytest.raises(
        DataInvalid, match=r"two\.py: .* off 5 training items: data\(\) must return \(train, valid"
    ):
        from_file(write(tmp_path, GOOD, "two.py"))(points=5).build(CPU)
    assert from_file(write(tmp_path, GOOD, "ten.py"))().build(CPU).notes["validation part"]


def test_the_example_trains_in_the_product(monkeypatch, tmp_path):
    """Found in HOOKE_PATH, in a process of its own, with the example's algorithm; and it learns."""
    document = tmp_path / "run.yaml"
    document.write_text(
        "schema: hooke.run/1\n"
        "workload: {name: two-spirals, parameters: {points: 1000, width: 32}}\n"
        "algorithm: {name: lookahead-easgd, parameters: {lr: 0.3, moving: 0.1, ahead: 1}}\n"
        "batch: 32\nworkers: 3\nworld: virtual\nvirtual: {}\n"
        "budget: {samples: 38400}\nevaluation: {every: 38400}\ncompute: {device: cpu}\n"
    )
    saved = tmp_path / "out.npz"
    command = [sys.executable, "-m", "hooke", "run", str(document), "--save", str(saved)]
    environment = {"HOOKE_PATH": str(EXAMPLE.parents[1]), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    objective = from_file(EXAMPLE)(points=1000, width=32).build(CPU)
    with np.load(saved) as arrays:
        center = torch.from_numpy(arrays["center"])
    trained, fresh = (objective.evaluate(w, 0, 200, "test") for w in (center, objective.initial(0)))
    assert trained.correct > fresh.correct + 15
    assert trained.loss_sum < 0.8 * fresh.loss_sum


@pytest.fixture
def in_the_catalogue(monkeypatch):
    """The folder of examples is in HOOKE_PATH; catalogues are read once per process, so also afterwards anew."""
    kept = catalogue.found, workload.catalogue, algorithm.catalogue
    monkeypatch.setenv("HOOKE_PATH", str(EXAMPLE.parents[1]))
    for each in kept:
        each.cache_clear()
    yield
    monkeypatch.undo()
    for each in kept:
        each.cache_clear()


def test_without_look_ahead_the_example_is_sync_easgd(in_the_catalogue):
    """k = 0: the built-in method with a = lr rho, up to rounding."""
    results = []
    for name, parameters in (
        ("sync-easgd", {"lr": 0.25, "rho": 0.5}),
        ("lookahead-easgd", {"lr": 0.25, "moving": 0.125, "ahead": 0}),
        ("lookahead-easgd", {"lr": 0.25, "moving": 0.125, "ahead": 1}),
    ):
        spec = {
            "schema": "hooke.run/1",
            "workload": {"name": "two-spirals", "parameters": {"points": 200, "width": 8}},
            "algorithm": {"name": name, "parameters": parameters},
            "batch": 8, "workers": 3, "world": "virtual", "virtual": {}, "budget": {"samples": 8 * 3 * 12},
            "evaluation": {"every": 10**6}, "compute": {"device": "cpu"},
        }  # fmt: skip
        results.append(np.stack([outcome.weights for outcome in run_spec_virtual(validate_run(spec))]))
    builtin, plain, ahead = results
    np.testing.assert_allclose(builtin, plain, rtol=1e-4, atol=1e-5)
    assert np.abs(builtin - ahead).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("def loss(output, target):", "def lost(output, target):"), r"own\.py lacks the function loss"),
        (("width: int = 3", "width: int"), r"own\.py:\d+: `width` of model\(\) needs a default"),
        (("width: int = 3", "width: int = int(3)"), r"own\.py:\d+: `int\(3\)` must be written out"),
        (("width: int = 3", "width: torch.dtype = 3"), r"own\.py:\d+: `torch.dtype` is not a supported type"),
        (("width: int = 3", "width=None"), "annotate `width`"),
        (("width: int = 3", "points: int = 3"), "model and data both take `points`, but declare it differently"),
        (("width: int = 3", "_width: int = 3"), "cannot be called `_width`"),
        (("width: int = 3", "target: int = 3"), "cannot be called `target`"),
        (("*, width", "*widths, width"), "named parameters only"),
        (("target = 0.5", "target = half"), "must be written out"),
        (("def model(", "def model("[:-1]), r"own\.py is not valid Python"),
    ],
)
def test_files_that_say_something_else(tmp_path, change, says):
    assert change[0] in GOOD
    with pytest.raises(DataInvalid, match=says):
        from_file(write(tmp_path, GOOD.replace(*change)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("return torch.nn.Linear(2, width)", "return 3"), r"model\(\) must return an nn.Module"),
        (("Linear(2, width)", "Linear(2, width).double()"), "float32; weight is not"),
        (
            ("return (x,", "return x, x, (x,"),
            r"data\(\) must return \(train, test\) or \(train, validation, test\), not tuple",
        ),
        (("torch.zeros(points,", "torch.zeros(points + 1,"), "train part of data.. has 10 inputs and 11 labels"),
        (("(x[:4].double(), torch.ones(4, dtype=torch.uint8))", "[]"), "test part of data.. must be"),
        (("(x[:4].double(), torch.ones(4, dtype=torch.uint8))", "{}"), "test part of data.. is empty"),
    ],
)
def test_functions_that_return_something_else(tmp_path, change, says):
    assert change[0] in GOOD
    with pytest.raises(DataInvalid, match=says):
        from_file(write(tmp_path, GOOD.replace(*change))).model_validate({}).build(CPU).initial(0)


def test_a_changed_file_is_executed_anew(tmp_path):
    path = write(tmp_path, GOOD)
    assert from_file(path)().build(CPU).layout[0].shape == (3, 2)
    path.write_text(GOOD.replace("Linear(2, width)", "Linear(2, width + 1)"))
    assert from_file(path)().build(CPU).layout[0].shape == (4, 2)


def test_modules_of_packages(tmp_path, monkeypatch):
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "__init__.py").write_text("")
    write(tmp_path / "mypackage", GOOD, "points.py")
    monkeypatch.syspath_prepend(tmp_path)
    made = from_module("mypackage.points", "points")
    assert (made.id(), made().build(CPU).train_size) == ("points", 9)
    for absent in ("mypackage.absent", "absent.points", "sys"):
        with pytest.raises(NotFound, match="source of the module .* was not found"):
            from_module(absent, "x")
    with pytest.raises(NotFound, match="cannot be read"):
        from_file(tmp_path / "absent.py")


def test_an_agent_lists_files_of_functions():
    """It asks in a process of its own, where the module is a program."""
    own = Path(__file__).parents[3] / "examples" / "own"
    command = [sys.executable, "-m", "hooke.catalogue.discovery"]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"HOOKE_PATH": str(own)}
    )
    told = json.loads(said.stdout)
    assert told["problems"] == []
    assert [each["name"] for each in told["workloads"] if each["origin"] == "file"] == ["two-spirals"]
