"""Clocks of overlapped methods that are evaluated, against a simulation of two workers in plain Python."""

import random
from unittest import mock

import pytest
from hooke.algorithms.co2 import CO2
from hooke.spec.events import Evaluation, Steps
from hooke.spec.journal import records, unpack

from tests.engine.contract.cases import BATCH, NETWORK, Case, play_virtual

MEMORY = 100e9


def column(folder, rank, name):
    steps = [r for r in records(folder / f"journal.{rank}.jsonl") if isinstance(r, Steps)]
    return [value for record in steps for value in unpack(name, record.columns[name])]


class Worker:
    """A worker's clock, and the seconds that it has waited or hidden."""

    def __init__(self) -> None:
        self.clock = self.exposed = self.hidden = 0.0
        self.posted = self.end = 0.0
        self.stops: list[tuple[float, float]] = []
        """When it waited for the other one to stop."""

    def complete(self) -> None:
        """Wait for the sum under way, if it is."""
        until = min(self.end, self.clock)
        stood = sum(max(0.0, min(end, until) - max(begin, self.posted)) for begin, end in self.stops)
        self.hidden += max(0.0, until - self.posted - stood)
        self.exposed += max(0.0, self.end - self.clock)
        self.clock = max(self.clock, self.end)
        self.posted = self.end = 0.0


def simulated(compute, update, seconds, method, period, delay, every):
    """Return the clocks of evaluations and of the end, and of each worker its exposed and hidden seconds."""
    workers, clocks = (Worker(), Worker()), []
    for t in range(len(compute[0])):
        for worker, taken in zip(workers, compute, strict=True):
            worker.clock += taken[t]
        if (t + 1) % period == 0:
            for worker in workers:
                if method == "co2" and worker.end:
                    worker.complete()
                worker.posted = worker.clock
            for worker in workers:
                worker.end = max(w.posted for w in workers) + seconds
        if method != "co2" and t + 1 > delay and (t + 1 - delay) % period == 0:
            for worker in workers:
                worker.complete()
        for worker in workers:
            worker.clock += update
        if (t + 1) % every == 0:
            last = max(worker.clock for worker in workers)
            for worker in workers:
                worker.stops.append((worker.clock, last))
                worker.clock = last
            clocks.append(max(last, workers[0].end))
    for worker in workers:
        if worker.end:
            worker.complete()
    return clocks, max(w.clock for w in workers), [(w.exposed, w.hidden) for w in workers]


def drawn(seed):
    """Return a case with random period, delay, network and evaluations."""
    chance = random.Random(seed)
    method = chance.choice(["co2", "elastic-slowmo"])
    period = chance.randint(1, 6)
    delay = chance.randint(0, period - 1)
    parameters = {"period": period} | ({"delay": delay} if method != "co2" else {})
    network = {"latency": chance.choice([1e-5, 2e-4, 5e-4, 2e-3]), "compute_jitter": chance.choice([0.0, 0.3])}
    every, steps = chance.randint(1, 5), chance.randint(8, 20)
    case = Case(
        method, tuple(parameters.items()), steps=steps, every=every * 2 * BATCH,
        network=tuple(network.items()), scoring=chance.choice([0.0, 3e-4, 0.01]), journal=True, seed=seed,
    )  # fmt: skip
    return case, method, period, delay, every


@pytest.mark.property("P19")
@pytest.mark.parametrize("seed", range(24))
def test_clocks_of_evaluated_methods_are_those_of_a_simulation(tmp_path, seed):
    case, method, period, delay, every = drawn(seed)
    played = play_virtual(case, tmp_path)
    assert not played[0].faults
    compute = [column(tmp_path, rank, "compute") for rank in (0, 1)]
    bytes_of_weights = 4 * case.objective.size
    update = bytes_of_weights * case.method.vector_accesses(server=False) / MEMORY
    message = dict(case.network)["latency"] + bytes_of_weights * NETWORK["seconds_per_byte"]
    clocks, end, spent = simulated(compute, update, 2 * message, method, period, delay, every)
    found = [evaluation.clock for evaluation in evaluations(tmp_path)]
    assert found[0] == 0
    assert found[1 : len(clocks) + 1] == pytest.approx(clocks, rel=1e-5)
    assert found == sorted(found)
    for report, (exposed, hidden) in zip(played, spent, strict=True):
        assert report.done["clock"] == pytest.approx(end, rel=1e-5)
        assert report.done["clock"] >= found[-1]
        assert report.done["phases"]["communicate"] == pytest.approx(exposed, rel=1e-4, abs=1e-8)
        assert report.done["hidden"] == pytest.approx(hidden, rel=1e-4, abs=1e-8)


def evaluations(folder):
    return [r for r in records(folder / "journal.0.jsonl") if isinstance(r, Evaluation)]


LONG = 0.05
"""Seconds of arithmetic of worker 1 with an average that has arrived; worker 0 takes none."""


class Uneven(CO2):
    """CO2 on workers of which one is slow at vector arithmetic."""

    def run(self, r):
        steps, done = r.steps, set()

        def slowed(evaluated, flush):
            def slow():
                if r.rank == 1 and r.t // self.period not in done:
                    r.comm.charge(LONG)
                done.add(r.t // self.period)
                flush()

            return steps(evaluated=evaluated, flush=slow)

        with mock.patch.object(r, "steps", slowed):
            super().run(r)


@pytest.mark.property("P19")
def test_the_clock_waits_for_the_slowest_arithmetic_at_a_stop(tmp_path, catalogued):
    """It is on the clock of all ranks, also where the deciding rank has done its own earlier."""
    catalogued(Uneven)
    case = Case(Uneven.id(), (("period", 2),), steps=9, every=3 * 2 * BATCH, journal=True)
    played = play_virtual(case, tmp_path)
    assert [report.faults for report in played] == [[], []]
    stops = 3
    for report in played:
        assert report.done["clock"] == pytest.approx(played[0].done["clock"])
        assert report.done["clock"] >= stops * LONG
        assert min(report.done["phases"].values()) >= 0
    assert played[1].done["phases"]["update"] >= stops * LONG
    assert played[0].done["phases"]["idle"] >= stops * LONG
