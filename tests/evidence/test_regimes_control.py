"""Methods at the setting of another one: they differ in what is said alone, and the decision has what was measured."""

from pathlib import Path

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.common import records
from benchmarks.regimes import control
from benchmarks.regimes.runs import Run
from benchmarks.tuned.conditions import TASKS
from benchmarks.tuned.entries import DDP_BF16

TASK = "fashion-halving"
DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "decisions"


def test_sync_sgd_is_the_twin_of_ddp():
    found = control.document(TASK, control.SYNC, 5)
    setting = {"lr": 0.02067, "momentum": 0.95937, "wire": "bf16", "accumulation": 2}
    twin = Run(TASK, 8, DDP_BF16.name, 8, 5).document(setting, control.SAMPLES)
    assert {**found["algorithm"]["parameters"]}.items() >= twin["algorithm"]["parameters"].items()
    assert found | {"algorithm": None} == twin | {"algorithm": None}
    assert found["algorithm"]["name"] == twin["algorithm"]["name"] == "sync-sgd"


@pytest.mark.parametrize("name", control.CONTROLS)
def test_a_control_differs_in_its_method_and_in_what_it_has_of_its_own(name):
    method, own = control.CONTROLS[name]
    found, sync = (control.document(TASK, each, 6) for each in (name, control.SYNC))
    assert found | {"algorithm": None} == sync | {"algorithm": None}
    spec = validate_run(found)
    assert (spec.algorithm.name, spec.seed, spec.target.value) == (method, 6, TASKS[TASK].target)
    changed = {key: value for key, value in found["algorithm"]["parameters"].items() if key not in own}
    assert sync["algorithm"]["parameters"].items() >= changed.items()
    assert spec.algorithm.parameters["lr"] == pytest.approx(0.02067 * own.get("lr", 1))


def test_what_was_measured_is_in_the_decision():
    (page,) = DECISIONS.glob("0137-*.md")
    text, lines = page.read_text(), control.table(TASK).splitlines()
    known = records.read(control.store_of(TASK), control.key)
    assert len(lines) == 2 + len({name for name, _ in known})
    assert all(line in text for line in lines)
