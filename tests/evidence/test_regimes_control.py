"""Methods at the setting of another one: what they differ in, and that the decision has what was measured."""

from pathlib import Path

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.common import records
from benchmarks.ideas import delays
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


def test_a_table_has_the_complete_controls_alone_and_their_clocks(tmp_path):
    """Twice the samples take twice the time, and what is hidden is not waited for."""
    path = tmp_path / "control.jsonl"
    for name, met in ((control.SYNC, 51_200), ("pipe-sgd", 102_400), ("delayed-gradient-averaging", 51_200)):
        for seed in (5, 6, 7) if name != "pipe-sgd" else (5,):
            found = {"met": met, "diverged": False, "before": met - 3_200}
            records.add(path, {"control": name, "seed": seed} | found)
    late, sync = control.table(TASK, path).splitlines()[2:]
    assert late.startswith("| delayed-gradient-averaging | 51, 51, 51 |")
    assert sync.startswith("| sync-sgd | 51, 51, 51 |")
    seconds = [float(line.split("|")[3].split(",")[0]) for line in (late, sync)]
    assert seconds[1] == pytest.approx(200 * (0.0138 + 0.0121), rel=0.05), "200 steps: compute and exchange"
    assert seconds[0] == pytest.approx(200 * 0.0138, rel=0.08), "the exchange is shorter than a step"


@pytest.mark.parametrize(("number", "entries"), [("0137", delays.ENTRIES), ("0146", delays.SIGNS)])
def test_what_was_measured_of_delays_is_in_the_decision(number, entries):
    (page,) = DECISIONS.glob(f"{number}-*.md")
    lines = delays.table(records.read(delays.DATA, delays.key), entries).splitlines()
    assert len(lines) > 2
    assert all(line in page.read_text() for line in lines)
