"""Files of users in HOOKE_PATH and in packages: found, described, reported when broken, refused when changed."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from tests.checkout import python_path

ALGORITHM = '''"""Mine."""
from __future__ import annotations

from hooke.catalogue.algorithm import Algorithm
from hooke.methods.descent import Descent
from pydantic import Field


class MyDescent(Algorithm):
    """My descent.

    Every worker walks alone; their mean is evaluated.
    """

    servers = 0
    lr: float = Field(0.1, gt=0, title="Rate", description="Step size.")

    def run(self, r):
        mean = r.buffer(r.params)
        for _ in r.steps(evaluated=lambda: r.mean(r.params, into=mean)):
            r.params.add_(r.gradient(), alpha=-self.lr)
'''.replace("from hooke.methods.descent import Descent\n", "")
CLASH = ALGORITHM.replace("MyDescent", "SyncSGD")
WORKLOAD = '''"""Two blobs.

Points around (1, 1) and (-1, -1).
"""
import torch

target = 0.8


def model(width: int = 4):
    return torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.Tanh(), torch.nn.Linear(width, 2))


def data(points: int = 256):
    labels = torch.arange(points) % 2
    points = torch.randn(points, 2, generator=torch.Generator().manual_seed(1)) + (2 * labels - 1)[:, None]
    return (points, labels), (points, labels)


def loss(output, label):
    return torch.nn.functional.cross_entropy(output, label)
'''
LATER = """
import json, sys
from hooke.errors import SpecError
from hooke.catalogue.algorithm import ranks_of
from hooke.catalogue.validation import validate_run
document = json.load(sys.stdin)
try:
    print("valid", ranks_of(validate_run(document)))
except SpecError as error:
    print([[p.pointer, p.message] for p in error.faults])
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder as HOOKE_PATH names it, with one good file of each kind."""
    for kind, name, text in (("algorithms", "mine", ALGORITHM), ("workloads", "two_blobs", WORKLOAD)):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{name}.py").write_text(text)
    return tmp_path


def python(*arguments, path, stdin="", **more):
    environment = {**os.environ, "HOOKE_PATH": str(path), **more}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=False, input=stdin, env=environment, capture_output=True, text=True, timeout=60
    )


def everything(path, **more):
    result = python("-m", "hooke.catalogue.discovery", path=path, **more)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    found = {kind: {item["name"]: item for item in told[kind]} for kind in ("algorithms", "workloads")}
    return found, {problem["name"]: problem for problem in told["problems"]}


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_files_are_described_beside_what_is_built_in(folder):
    found, problems = everything(folder)
    mine, blobs = found["algorithms"]["my-descent"], found["workloads"]["two-blobs"]
    assert problems == {}
    assert (mine["origin"], mine["hash"]) == ("file", digest(folder / "algorithms" / "mine.py"))
    assert mine["title"] == "My descent"
    assert mine["schema"]["properties"]["lr"]["title"] == "Rate"
    assert (blobs["origin"], blobs["hash"]) == ("file", digest(folder / "workloads" / "two_blobs.py"))
    assert blobs["target"] == 0.8
    assert set(blobs["schema"]["properties"]) == {"width", "points"}
    assert found["algorithms"]["sync-sgd"]["origin"] == "built-in"
    assert len(found["algorithms"]["sync-sgd"]["hash"]) == 64


def test_a_class_is_described_once(folder):
    """A user's class may take long to make its schema."""
    counted = """
    @classmethod
    def model_json_schema(cls, **options):
        print("asked for the schema")
        return super().model_json_schema(**options)
"""
    (folder / "algorithms" / "mine.py").write_text(ALGORITHM + counted)
    result = python("-m", "hooke.catalogue.discovery", path=folder)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("asked for the schema") == 1


def test_what_is_broken_is_told_and_hides_nothing(folder):
    bad = {
        "syntax": "def (",
        "raises": "import nothing_of_this_name\n",
        "exits": "raise SystemExit(3)\n",
        "empty": "print('hello')\n",
        "clash": CLASH,
        "moved": "from hooke.descent import Descent\n",
        "cautious": ALGORITHM.replace("MyDescent", "Cautious")
        + "\n    def caut"
        + "ions(self, workers):\n        return []\n",
        "renamed": ALGORITHM.replace("MyDescent", "Renamed") + "\n    p" + 'ace = "free"\n',
    }
    for name, text in bad.items():
        (folder / "algorithms" / f"{name}.py").write_text(text)
    (folder / "algorithms" / "_helper.py").write_text("raise RuntimeError('not read')")
    found, problems = everything(f"{folder}{os.pathsep}{folder / 'absent'}")
    assert set(problems) == {
        "syntax",
        "raises",
        "exits",
        "empty",
        "sync-sgd",
        "absent",
        "moved",
        "renamed",
        "cautious",
    }
    assert "No module named 'nothing_of_this_name'" in problems["raises"]["error"]
    assert "(line 1)" in problems["raises"]["error"]
    assert "pace is now coordination" in problems["renamed"]["error"]
    assert "caut" + "ions is now warnings" in problems["cautious"]["error"]
    assert "it is now hooke.methods.descent" in problems["moved"]["error"]
    assert "is taken (built-in)" in problems["sync-sgd"]["error"]
    assert problems["sync-sgd"]["file"].endswith("clash.py")
    assert "contains no algorithm" in problems["empty"]["error"]
    assert "does not exist" in problems["absent"]["error"]
    assert "my-descent" in found["algorithms"]
    assert found["algorithms"]["sync-sgd"]["origin"] == "built-in"


def test_a_package_offers_by_entry_points(folder, tmp_path):
    site = tmp_path / "site"
    info = site / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "mine_methods.py").write_text(ALGORITHM.replace("MyDescent", "PackagedDescent"))
    (site / "mine_blobs.py").write_text(WORKLOAD)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hooke.algorithms]\nall = mine_methods\nlost = mine_methods:Lost\n[hooke.workloads]\nblobs = mine_blobs\n"
    )
    found, problems = everything("", PYTHONPATH=python_path(site))
    packaged = found["algorithms"]["packaged-descent"]
    assert (packaged["origin"], packaged["hash"]) == ("entry point", digest(site / "mine_methods.py"))
    assert found["workloads"]["blobs"]["origin"] == "entry point"
    assert set(problems) == {"lost"}
    assert "mine" in problems["lost"]["file"]


def test_the_command_line_lists_files_and_problems(folder):
    (folder / "algorithms" / "broken.py").write_text("1 / 0\n")
    result = python("-m", "hooke", "algorithms", path=folder)
    assert result.returncode == 0
    line = next(line for line in result.stdout.splitlines() if line.startswith("my-descent"))
    assert f"file {digest(folder / 'algorithms' / 'mine.py')[:8]}" in line
    assert "not offered: broken" in result.stderr
    assert "ZeroDivisionError (line 1)" in result.stderr


def test_a_run_is_refused_where_the_source_is_another(folder):
    source = folder / "algorithms" / "mine.py"
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": "my-descent", "parameters": {"lr": 0.2}, "hash": digest(source)},
        "workers": 2,
        "budget": {"samples": 100},
        "evaluation": {"every": 100},
    }
    as_planned = python("-c", LATER, path=folder, stdin=json.dumps(document))
    assert as_planned.stdout == "valid 2\n", as_planned.stderr
    source.write_text(ALGORITHM + "\n# better\n")
    changed = python("-c", LATER, path=folder, stdin=json.dumps(document))
    assert "'/algorithm/hash'" in changed.stdout
    assert f"planned {document['algorithm']['hash'][:12]}" in changed.stdout
    gone = python("-c", LATER, path=folder / "absent", stdin=json.dumps(document))
    assert "no algorithm is called 'my-descent'" in gone.stdout


def test_a_declaration_that_cannot_be_used_is_told_and_hides_nothing(folder):
    """Also where it could not be sent as JSON, and beside other classes of its file."""
    bad = {
        "family = 7": "`family` is a heading",
        f"family = 'x' * {10_000}": "`family` is a heading",
        "family: str = 'Mine'": "`family` is declared as a parameter",
        "period_field = 'tau'": "`period_field` names 'tau', which is not a parameter of type int",
        "period_field = 'lr'": "`period_field` names 'lr', which is not a parameter of type int",
        "period_field = 'tau'; tau: int = 0": "`period_field` names 'tau', whose default is not a positive number",
        "updates_field = 'adding'": "`updates_field` names 'adding', which is not a parameter of type Updates",
        "updates_field = 'lr'": "`updates_field` names 'lr', which is not a parameter of type Updates",
        "updates_field = 7": "`updates_field` names 7, which is not a parameter of type Updates",
        "servers = 'two'": "`servers` is 0 or 1",
        "coordination = 'anarchy'": "`coordination` is one of",
        "max_workers = 'few'": "`max_workers` is a positive number",
        "may_drop = object()": "`may_drop` is True or False",
        "limits = 5": "`limits` is a list of Limit",
        "conserves = 'all'": "`conserves` is",
        "exchange = 3": "`exchange` is a function",
        "exchange = lambda method, step: 1 / 0": "division by zero",
        "exchange = lambda method, step: [Transfer('allreduce', 8)]": "a transfer has no `operation` 'allreduce'",
        "width: float = float('nan')": "not JSON compliant",
        "run = Algorithm.run": "it defines no `run`",
    }
    classes = [
        f"class Bad{n}(MyDescent):\n    {line}\n" + ("" if line.startswith("run") else "    run = MyDescent.run\n")
        for n, line in enumerate(bad)
    ]
    imports = "from hooke.catalogue.claims import Transfer\n"
    (folder / "algorithms" / "mine.py").write_text("\n\n".join([ALGORITHM, imports, *classes]))
    found, problems = everything(folder)
    assert "my-descent" in found["algorithms"]
    assert set(problems) == {f"bad{n}" for n in range(len(bad))}
    for n, (line, said) in enumerate(bad.items()):
        assert said in problems[f"bad{n}"]["error"], line


def test_defaults_that_cannot_run_hide_no_method(folder):
    """What it moves is then unknown."""
    more = """
    parts: int = 3
    exchange = lambda method, step: 1 / 0

    def faults(self, workers):
        return ["not so"] if workers % self.parts else []


class Stern(MyDescent):
    exchange = lambda method, step: 1 / 0
    lr: float = Field(5.0, gt=0, lt=1, validate_default=True)
"""
    (folder / "algorithms" / "mine.py").write_text(ALGORITHM + more)
    found, problems = everything(folder)
    assert problems == {}
    assert found["algorithms"]["my-descent"]["payload_per_step"] is None
    assert found["algorithms"]["stern"]["payload_per_step"] is None
