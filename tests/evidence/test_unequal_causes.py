"""Why workers of the comparison compute for less than was asked, by hand; and what is published of it."""

import pytest

from benchmarks.common import records as kept
from benchmarks.unequal import __main__ as command
from benchmarks.unequal import causes, findings
from benchmarks.unequal.entries import ADAPTIVE, STATIC
from benchmarks.unequal.findings import Cell
from benchmarks.unequal.page import page
from benchmarks.unequal.runs import run_of
from benchmarks.unequal.tasks import WIDTHS, weights
from tests.evidence.test_unequal import COSTS, complete, made

WORK = {"clock": 0.1, "steps": [400, 40], "updates": [100, 40]}
"""Of 0.1 s; the fast worker has four batches in an update."""


def of(*computing, condition):
    return made(STATIC, [3, 3, 3], condition=condition, computing=list(computing), **WORK)


def test_what_an_update_takes_by_hand():
    """26,280 bytes there and back, at 50 GB/s and 10 us, and 16 passes over them at 100 GB/s."""
    found = [each for each in of(0.5, 0.95, condition="h100").values() if each["seed"] == 1]
    device, cpu = causes.updates(Cell("digits", "h100"), found)
    size = 4 * (65 * 64 + 65 * 32 + 33 * 10)
    assert device.computes == pytest.approx(0.05 / 100)
    assert device.messages == pytest.approx(2 * (10e-6 + size / 50e9))
    assert device.vectors == pytest.approx(4 * 4 * size / 100e9)
    assert sum(device) == pytest.approx(0.1 / 100)
    assert device.share == pytest.approx(0.5)
    assert device.most == pytest.approx(500 / (500 + 21.0512 + 4.2048), rel=1e-6)
    assert cpu.messages == pytest.approx(2 * (10e-6 + size / 10e9))
    slower = causes.updates(Cell("digits", "ratio-4"), found)[0]
    assert slower.messages == pytest.approx(2 * (10e-6 + 0.8e-9 * size))


def test_the_page_tells_it_of_the_cells_that_miss_what_was_asked():
    whole = complete("ratio-4", **WORK) | complete("h100", **WORK)
    assert "Why workers compute" not in page(whole, COSTS)
    text = page(whole | of(0.5, 0.95, condition="h100"), COSTS)
    assert "CPU+GPU Hogbatch: in 0 of 1 cells messages and vectors alone leave a worker less than\n90%" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| CPU+GPU Hogbatch | digits | H100")]
    assert row.endswith("| h100 | 500 | 21 | 4 | 475 | 50.0% | 95.2% |")


@pytest.mark.parametrize("task", WIDTHS)
def test_the_weights_are_those_that_a_check_before_a_run_predicts(task):
    from hooke.catalogue.workload import workload

    from benchmarks.unequal.tasks import TASKS

    chosen = TASKS[task].workload
    sizes = workload(chosen["name"])(**chosen["parameters"]).memory_sizes()
    if sizes is not None:
        assert sizes.weights == weights(task)
    elif task in ("w8a", "a9a", "w8a-6x512"):
        chosen = dict(chosen["parameters"], data=task[:3])
        assert workload("libsvm-mlp")(**chosen).memory_sizes().weights == weights(task)


def test_the_constants_explain_the_published_utilization():
    """No time of a worker is negative, and where nobody waits, it is all explained."""
    records = kept.read(command.DATA, run_of)
    cells = findings.found_in(records, "cpus", "box")
    for entry in (STATIC, ADAPTIVE):
        for cell in cells:
            rows = causes.updates(cell, findings.worked(records, cell, entry))
            assert all(row.waits > -0.01 * sum(row) for row in rows), (cell, entry)
            assert min(row.waits / sum(row) for row in rows) < 0.05, (cell, entry)
    assert len(causes.missed(records, cells, STATIC)) == 11
    assert len(causes.missed(records, cells, ADAPTIVE)) == 4
