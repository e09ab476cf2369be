"""The comparison over HTTP, and every sentence it can say; its queries on both databases."""

import math
import statistics

import pytest
from hooke.spec.events import RankRecords
from hooke.spec.states import RunState
from hooke_api.models import RankTotals, Run
from sqlalchemy import select

from tests.api.conftest import done, scored, start, steps
from tests.api.databases import ONE_KIND

VARIANTS = [
    {"name": "Original EASGD", "algorithm": "original-easgd"},
    {"name": "Sync EASGD", "algorithm": "sync-easgd"},
    {"name": "Async EASGD", "algorithm": "async-easgd"},
]
LOCAL = {"name": "local", "workers": [2], "seeds": 5}
VIRTUAL = {"name": "paper", "computed_on": "local", "workers": [8], "seeds": 5, "virtual": {}}


def submit(service, clusters=(LOCAL,), variants=VARIANTS, **changes) -> str:
    return service.submit(clusters=list(clusters), variants=variants, baseline="Original EASGD", **changes)["id"]


def end(service, variant: str, cluster: str = "local", state: str = "succeeded", **by_seed) -> None:
    """Give the runs of a variant their figures: lists by seed; a time of None is a target that was missed."""
    with service.database.write() as session:
        runs = session.scalars(
            select(Run).where(Run.variant == variant, Run.cluster == cluster).order_by(Run.seed)
        )
        for i, run in enumerate(runs):
            if i >= len(next(iter(by_seed.values()))):
                break
            run.state = RunState(state)
            for name, values in by_seed.items():
                setattr(run, name, values[i])
            if run.time_to_target is not None and "target_after" not in by_seed:
                run.target_after = run.time_to_target  # known exactly


def comparison(service, experiment: str) -> dict:
    return service.get(f"/experiments/{experiment}/comparison")


def row(answer: dict, variant: str, cluster: str = "local") -> dict:
    return next(r for r in answer["rows"] if r["variant"] == variant and r["cluster"] == cluster)


BASE = [10.2, 11.9, 9.7, 12.4, 10.8]
HALF = [5.1, 5.6, 5.3, 6.4, 4.9]
ALIKE = [9.0, 13.0, 10.5, 11.0, 10.9]


def test_the_verdict_of_a_whole_experiment(service):
    experiment = submit(service)
    end(service, "Original EASGD", time_to_target=BASE, clock=BASE, accuracy=[0.9] * 5, samples=[9000] * 5)
    end(
        service,
        "Sync EASGD",
        time_to_target=HALF,
        clock=HALF,
        accuracy=[0.91, 0.92, 0.9, 0.93, 0.9],
        samples=[9000] * 5,
    )
    end(service, "Async EASGD", time_to_target=ALIKE, clock=ALIKE, samples=[9000] * 5)
    answer = comparison(service, experiment)
    assert answer["complete"] and answer["target"] == "90% validation accuracy"
    assert answer["baseline"] == "Original EASGD"
    assert [r["variant"] for r in answer["rows"]] == ["Original EASGD", "Sync EASGD", "Async EASGD"]
    sync = row(answer, "Sync EASGD")
    assert sync["speed_up"]["claim"] == "faster" and sync["speed_up"]["pairs"] == 5
    expected = statistics.geometric_mean(BASE) / statistics.geometric_mean(HALF)
    assert sync["speed_up"]["ratio"] == pytest.approx(expected)
    assert sync["speed_up"]["sentence"] == (
        "Sync EASGD reaches the target 2.0x faster than Original EASGD (95% interval 1.8 to 2.2, 5 seeds; "
        "after correction for 2 comparisons)."
    )
    assert sync["time_to_target"] == {
        "mean": pytest.approx(statistics.geometric_mean(HALF)),
        "median": 5.3,
        "low": 4.9,
        "high": 6.4,
        "reached": 5,
        "n": 5,
        "unit": "s",
    }
    assert sync["accuracy"]["mean"] == pytest.approx(0.912) and sync["accuracy"]["n"] == 5
    half = 2.7764451 * statistics.stdev([0.91, 0.92, 0.9, 0.93, 0.9]) / math.sqrt(5)
    assert sync["accuracy"]["high"] == pytest.approx(0.912 + half) and sync["accuracy"]["unit"] == "fraction"
    assert sync["throughput"]["mean"] == pytest.approx(statistics.fmean(9000 / t for t in HALF))
    assert sync["throughput"]["unit"] == "samples/s"
    assert row(answer, "Original EASGD")["speed_up"]["claim"] == "baseline"
    slow = row(answer, "Async EASGD")["speed_up"]
    assert slow["claim"] == "not shown" and "includes 1" in slow["sentence"]
    assert answer["sentences"] == [
        "On local (2 workers, real), time to 90% validation accuracy against Original EASGD, 95% intervals, "
        "claims after correction for 2 comparisons: "
        "faster: Sync EASGD 2.0x (1.8 to 2.2, n=5); not shown: Async EASGD 1.01x (0.89 to 1.2, n=5)."
    ]


@ONE_KIND
def test_simulated_and_oversubscribed_are_said(service):
    experiment = submit(service, [LOCAL, VIRTUAL])
    for cluster in ("local", "paper"):
        end(
            service,
            "Original EASGD",
            cluster,
            time_to_target=HALF,
            clock=HALF,
            oversubscribed=[cluster == "local"] * 5,
        )
        end(service, "Sync EASGD", cluster, time_to_target=BASE, clock=BASE)
    answer = comparison(service, experiment)
    local, paper = answer["sentences"]
    assert local.startswith("On local (2 workers, real, oversubscribed: more ranks than cores, so far 10 of 15")
    assert paper.startswith("On paper (8 workers, simulated, so far 10 of 15 runs ended)")
    assert "slower: Sync EASGD 2.0x as long (1.8 to 2.2, n=5)" in paper
    assert "no claim: Async EASGD (0 pairs of finished seeds, but 3 are needed)" in paper
    assert not answer["complete"]
    simulated = row(answer, "Sync EASGD", "paper")
    assert simulated["simulated"] and simulated["time_to_target"]["unit"] == "virtual s"
    assert simulated["throughput"]["unit"] == "samples/virtual s"
    assert simulated["speed_up"]["sentence"] == (
        "Sync EASGD takes 2.0x as long as Original EASGD to reach the target "
        "(95% interval 1.8 to 2.2, 5 seeds, simulated)."
    )
    assert row(answer, "Original EASGD", "local")["oversubscribed"]


@ONE_KIND
def test_missed_targets_are_bounds(service):
    experiment = submit(service)
    end(
        service,
        "Original EASGD",
        time_to_target=[None, None, 9.7, 12.4, 10.8],
        clock=[12.0, 12.5, 9.7, 12.4, 10.8],
    )
    end(service, "Sync EASGD", time_to_target=HALF, clock=HALF)
    answer = comparison(service, experiment)
    found = row(answer, "Sync EASGD")["speed_up"]
    assert (found["claim"], found["censored"], found["high"]) == ("at least", 2, None)
    assert found["sentence"].startswith(
        "Sync EASGD reaches the target at least 1.8x faster than Original EASGD (95% confidence"
    )
    assert "Original EASGD missed it with 2 of 5 seeds" in found["sentence"]
    assert "faster: Sync EASGD at least 1.8x (n=5" in answer["sentences"][0]
    missed = row(answer, "Original EASGD")["time_to_target"]
    assert (missed["reached"], missed["n"], missed["low"], missed["high"], missed["median"]) == (
        3,
        5,
        9.7,
        12.4,
        12.4,
    )


@ONE_KIND
def test_a_baseline_that_diverged_at_once_is_no_match(service):
    experiment = submit(service)
    end(service, "Original EASGD", time_to_target=BASE, clock=BASE)
    end(
        service,
        "Original EASGD",
        state="failed_user",
        time_to_target=[None, None],
        clock=[0.4, 0.3],
        diverged=[True] * 2,
    )
    end(service, "Sync EASGD", time_to_target=HALF, clock=HALF)
    found = row(comparison(service, experiment), "Sync EASGD")["speed_up"]
    assert (found["claim"], found["pairs"], found["censored"]) == ("at least", 5, 2)
    assert "Original EASGD diverged with 2 of 5 seeds" in found["sentence"]


@ONE_KIND
def test_a_run_that_another_error_ended_says_nothing(service):
    experiment = submit(service)
    end(service, "Original EASGD", time_to_target=BASE, clock=BASE)
    end(service, "Sync EASGD", time_to_target=HALF, clock=HALF)
    end(service, "Sync EASGD", state="failed_user", time_to_target=[None, None], clock=[0.4, 0.3])
    found = row(comparison(service, experiment), "Sync EASGD")
    assert (found["speed_up"]["claim"], found["speed_up"]["pairs"], found["failed"]) == ("faster", 3, 2)
    assert found["time_to_target"]["n"] == 3


@ONE_KIND
def test_times_lie_between_evaluations(service):
    """The 11th evaluation met the target with every seed, and the variant's 10th."""
    experiment = submit(service)
    tenth, ninth = {"target_after": [10.0] * 5}, {"target_after": [9.0] * 5}
    end(service, "Original EASGD", time_to_target=[11.0] * 5, clock=[11.0] * 5, **tenth)
    end(service, "Sync EASGD", time_to_target=[10.0] * 5, clock=[10.0] * 5, **ninth)
    found = row(comparison(service, experiment), "Sync EASGD")["speed_up"]
    assert found["ratio"] == pytest.approx(1.1) and found["claim"] == "not shown"
    assert found["low"] < 1 and found["high"] > 11 / 9
    assert "evaluate more often" in found["sentence"]


@ONE_KIND
def test_a_seed_that_diverged_missed_the_target_and_one_that_a_machine_ended_says_nothing(service):
    experiment = submit(service)
    end(service, "Original EASGD", time_to_target=BASE, clock=BASE)
    end(service, "Sync EASGD", time_to_target=HALF, clock=HALF)
    end(
        service,
        "Sync EASGD",
        state="failed_user",
        time_to_target=[None] * 2,
        clock=[0.4, 0.3],
        diverged=[True] * 2,
    )
    end(service, "Async EASGD", time_to_target=HALF, clock=HALF)
    end(service, "Async EASGD", state="failed_infra", time_to_target=[None], clock=[0.4])
    answer = comparison(service, experiment)
    sync, other = row(answer, "Sync EASGD"), row(answer, "Async EASGD")
    assert (sync["failed"], sync["finished"], sync["time_to_target"]["n"]) == (2, 3, 5)
    assert sync["speed_up"]["claim"] == "not shown"
    assert "Sync EASGD diverged with 2 of 5 seeds" in sync["speed_up"]["sentence"]
    assert (other["time_to_target"]["n"], other["speed_up"]["pairs"], other["speed_up"]["claim"]) == (
        4,
        4,
        "faster",
    )
    assert "3 runs failed: 2 of Sync EASGD and 1 of " in answer["sentences"][0]


@ONE_KIND
def test_half_missed_has_no_median(service):
    experiment = submit(service)
    end(service, "Sync EASGD", time_to_target=[4.0, 3.0, None, None], clock=[4.0, 3.0, 9.0, 9.0])
    found = row(comparison(service, experiment), "Sync EASGD")["time_to_target"]
    assert (found["median"], found["low"], found["high"], found["reached"], found["n"]) == (None, 3.0, 4.0, 2, 4)


@ONE_KIND
def test_without_a_target_accuracy_and_throughput_are_compared(service):
    experiment = submit(service, target=None)
    end(service, "Original EASGD", accuracy=[0.90, 0.91, 0.92], samples=[1000] * 3, clock=[1.0, 1.1, 0.9])
    end(service, "Sync EASGD", accuracy=[0.92, 0.93, 0.9401], samples=[1000] * 3, clock=[1.01, 1.08, 0.91])
    answer = comparison(service, experiment)
    assert answer["target"] is None
    sync = row(answer, "Sync EASGD")
    assert sync["time_to_target"] is None
    assert (sync["speed_up"]["claim"], sync["speed_up"]["ratio"]) == ("no claim", None)
    assert sync["speed_up"]["sentence"] == (
        "No target was set, so there is no time to it. Against Original EASGD: Sync EASGD final accuracy "
        "+2 points (+2 to +2 points) and throughput practically the same (0.96 to 1.04) (n=3)."
    )
    assert "no target was set; against Original EASGD" in answer["sentences"][0]
    assert "Async EASGD (no claim: 0 pairs of finished seeds, but 3 are needed)" in answer["sentences"][0]


@ONE_KIND
def test_a_method_of_one_worker_has_no_baseline_beside_it(service):
    experiment = submit(service, variants=[*VARIANTS, {"name": "SGD", "algorithm": "sgd"}])
    answer = comparison(service, experiment)
    assert row(answer, "SGD")["workers"] == 1
    assert row(answer, "SGD")["speed_up"]["sentence"] == (
        "No claim on SGD: Original EASGD did not run on local with 1 worker."
    )
    assert answer["sentences"][1] == (
        "On local (1 worker, real, so far 0 of 5 runs ended): "
        "no claim: the baseline Original EASGD did not run here."
    )


def test_figures_come_from_what_was_ingested(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    for rank in (0, 1):
        supervisor.send(RankRecords(rank=rank, records=[start(), steps(1, 4)]))
    answer = comparison(service, service.runs()[0]["experiment_id"])
    live = next(r for r in answer["rows"] if r["phases"])
    assert live["phases"] == pytest.approx(
        {"data": 0.1, "compute": 0.6, "communicate": 0.2, "update": 0.1}
        | dict.fromkeys(("rebuild", "evaluate", "idle"), 0.0),
        rel=1e-6,
    )
    assert (live["finished"], live["accuracy"]["n"], answer["complete"]) == (0, 0, False)
    for rank in (0, 1):
        records = [scored(2, 6400, 0.93, clock=9.5, reached=True)] if rank == 0 else []
        supervisor.send(RankRecords(rank=rank, records=[*records, done(3 - rank, reason="target")]))
    supervisor.report("succeeded")
    finished = next(r for r in comparison(service, answer["experiment"])["rows"] if r["phases"])
    assert finished["finished"] == 1
    assert finished["accuracy"]["mean"] == 0.93
    assert (finished["wire"]["mean"], finished["wire"]["unit"]) == (40.0, "bytes")
    assert (finished["hidden"]["mean"], finished["hidden"]["unit"]) == (0.25, "s")
    assert finished["communication_fraction"]["mean"] == pytest.approx(2.0 / 9.5)
    assert finished["throughput"]["mean"] == pytest.approx(6400 / 9.5)
    assert finished["time_to_target"]["median"] == 9.5
    assert sum(finished["phases"].values()) == pytest.approx(1.0)
    assert finished["phases"]["compute"] == pytest.approx(0.6)


def test_a_server_counts_for_bytes_but_not_for_shares(service):
    experiment = submit(service)
    end(service, "Async EASGD", clock=[1.0], samples=[10])
    with service.database.write() as session:
        run = session.scalars(select(Run).where(Run.variant == "Async EASGD").order_by(Run.seed)).first()
        for rank, role, compute, idle in (
            (0, "worker", 3.0, 1.0),
            (1, "worker", 1.0, 1.0),
            (2, "server", 0.0, 9.0),
        ):
            session.add(
                RankTotals(run_id=run.id, attempt=1, rank=rank, role=role, compute=compute, idle=idle, wire=10)
            )
    found = row(comparison(service, experiment), "Async EASGD")
    assert found["wire"]["mean"] == 30
    assert found["phases"]["compute"] == pytest.approx((0.75 + 0.5) / 2)
    assert found["servers"] == 1
