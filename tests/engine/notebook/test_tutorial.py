"""The tutorial runs from its first cell to its last, in a kernel of its own; the README calls what exists."""

import ast
import dataclasses
import inspect
import os
import re
from pathlib import Path

import hooke
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs/tutorial.ipynb"


def shown(cell):
    return "".join(str(output.get("data", {}).get("text/plain", "")) for output in cell.outputs)


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "engine"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(TUTORIAL, as_version=4)
    cells = {cell.source.splitlines()[-1]: cell for cell in notebook.cells if cell.cell_type == "code"}
    assert all(not cell.outputs and cell.execution_count is None for cell in cells.values()), "strip its outputs"
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "faster: local-sgd" in shown(cells["r.verdict"]), shown(cells["r.verdict"])
    assert "image/png" in cells["r.plot()"].outputs[-1].data
    assert "<table" in cells["r.table"].outputs[-1].data["text/html"]
    assert "4 trials" in shown(cells["tuned.verdict"]), shown(cells["tuned.verdict"])
    (searches,) = (cell for source, cell in cells.items() if source.startswith("tuned.searches"))
    assert all(name in shown(searches) for name in ("slowmo", "diloco", "sync-easgd3"))
    (saved,) = (cell for source, cell in cells.items() if source.startswith("sorted("))
    assert shown(saved) == "['experiment.json', 'runs', 'table.csv', 'verdict.txt']"


def test_the_lines_of_the_readme_call_what_exists():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (block,) = (text for text in blocks if "hooke.compare(" in text)
    calls = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
    (call,) = (each for each in calls if ast.unparse(each.func) == "hooke.compare")
    names = [word.arg for word in call.keywords]
    inspect.signature(hooke.compare).bind(**dict.fromkeys(names))
    used = {ast.unparse(node) for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Attribute)}
    assert all(hasattr(hooke.Comparison, name.removeprefix("r.")) for name in used if name.startswith("r."))
    (network,) = (each for each in calls if ast.unparse(each.func) == "hooke.Network")
    hooke.Network(*(ast.literal_eval(argument) for argument in network.args))


ARGUMENTS = """
    methods model train test validation loss score workload target metric baseline workers seeds first_seed trials
    tuning_seeds trial_samples search sampler network world batch samples evaluate_every sharding
    seconds_per_sample communication device precision name progress
"""
MEMBERS = """
    verdict table rows plot settings trials searches runs report specification complete interrupted warnings save
    submit
"""


def test_what_programs_use_stays_and_is_documented():
    """A name that programs of version 0.1 use is not removed; a new one is documented, and added here."""
    page = (ROOT / "docs/notebook.md").read_text()
    first, *others = inspect.signature(hooke.compare).parameters.values()
    assert [first.name, *(each.name for each in others)] == ARGUMENTS.split()
    assert all(each.kind is each.KEYWORD_ONLY and each.default is not each.empty for each in others)
    members = {name for name in dir(hooke.Comparison) if not name.startswith("_")}
    members |= {field.name for field in dataclasses.fields(hooke.Comparison) if not field.name.startswith("_")}
    assert members - {"planned"} == set(MEMBERS.split()), "`planned` is for those who save"
    for name in (ARGUMENTS + MEMBERS).split():
        assert re.search(rf"`{name}[`=(]", page), f"{name} is not documented"
