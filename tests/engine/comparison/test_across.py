"""The comparison over clusters: pooled ratios, reversals of order, and what may not be pooled."""

import math
import random
from dataclasses import replace

import pytest
from hooke.comparison.effort import Effort
from hooke.comparison.figures import RunFigures
from hooke.comparison.report import report
from hooke.spec.specification import Target
from hooke.spec.states import RunState
from scipy import stats

TARGET = Target(metric="validation_accuracy", value=0.9)
NOISE = (0.02, -0.01, 0.03, -0.04, 0.0)


def runs(cluster: str, times: dict[str, float], seeds: int = 5, workers: int = 4, simulated: bool = False):
    """Return runs whose exact time to target is that of the variant, times a factor of its own for each seed."""
    for k, (variant, seconds) in enumerate(times.items()):
        for seed in range(seeds):
            met = seconds * math.exp(NOISE[(seed + k) % len(NOISE)])
            yield RunFigures(
                *(variant, "sync-sgd", cluster, workers, 0, seed, simulated, RunState.SUCCEEDED),
                evaluated_part="validation",
                clock=met,
                time_to_target=met,
                target_after=met * (1 - 1e-9),
            )


def found(*groups, baseline="base"):
    return report([run for group in groups for run in group], baseline, TARGET, Effort())


def test_ratios_are_pooled_over_clusters_and_seconds_are_not():
    """Two clusters, one a hundred times as fast: the mean ratio is the geometric mean of both, by hand."""
    (across,) = found(runs("slow", {"base": 300.0, "a": 100.0}), runs("fast", {"base": 2.0, "a": 1.0})).across
    pooled = across.pooled["a"]
    assert (across.pool, pooled.seeds, pooled.machines) == (["slow", "fast"], 5, 2)
    assert pooled.ratio == pytest.approx(math.sqrt(3 * 2) * math.exp(_mean_noise()), rel=1e-6)
    between = math.log(3 / 2) ** 2 / 2 / 2  # variance of the mean of two logarithms that lie this far apart
    half = stats.t.ppf(0.975, 1) * math.sqrt(between + _variance_of_noise())
    assert pooled.high / pooled.ratio == pytest.approx(math.exp(half), rel=1e-3)
    assert pooled.claim == "not shown"  # two clusters that disagree so much show nothing of a third
    assert "Mean over 2 clusters (slow and fast) with 4 workers, against base" in across.sentences[0]


def _logs():
    return [NOISE[seed % 5] - NOISE[(seed + 1) % 5] for seed in range(5)]


def _mean_noise() -> float:
    return sum(_logs()) / 5


def _variance_of_noise() -> float:
    return stats.tvar(_logs()) / 5


def test_a_reversal_is_told_with_both_ratios():
    (across,) = found(
        runs("nearby", {"base": 4.0, "a": 1.0, "b": 2.0}), runs("far", {"base": 4.0, "a": 2.0, "b": 1.0})
    ).across
    (reversal,) = across.reversals
    assert {reversal.first, reversal.second} == {"a", "b"}
    assert (across.pairs, across.agreed) == (3, 2)
    (told,) = [said for said in across.sentences if said.startswith("The order changes")]
    assert "a is faster than b on nearby (2.0x" in told
    assert ", but b is faster than a on far (2.0x" in told


def test_pairs_that_cannot_be_told_apart_are_no_reversal():
    (across,) = found(
        runs("one", {"base": 4.0, "a": 1.0, "b": 1.01}), runs("two", {"base": 4.0, "a": 1.01, "b": 1.0})
    ).across
    assert across.reversals == []
    assert across.sentences[1:] == [
        "No change of the order is shown: 2 of 3 pairs of variants have the same order on every cluster; that of "
        "the other one is not shown on all of them."
    ]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (
            {"base": 8.0, "a": 1.0},
            "The order of the variants is the same on every cluster, measured or simulated.",
        ),
        (
            {"base": 1.0, "a": 1.001},
            "Whether the order changes with the cluster is open: no two variants are separated on every cluster, "
            "measured or simulated.",
        ),
    ],
)
def test_an_order_that_is_the_same_or_open_is_said_in_a_sentence(second, told):
    (across,) = found(runs("lab", {"base": 2.0, "a": 1.0}), runs("sim", second, simulated=True)).across
    assert across.sentences[1:] == [told]


def test_measured_and_simulated_clusters_are_not_pooled():
    (mixed,) = found(
        runs("real", {"base": 2.0, "a": 1.0}), runs("wires", {"base": 2.0, "a": 1.0}, simulated=True)
    ).across
    assert (mixed.pool, mixed.pooled) == ([], {})
    assert "nothing is pooled" in mixed.sentences[0]
    assert mixed.agreed == 1  # their order is compared all the same
    (three,) = found(
        runs("real", {"base": 2.0, "a": 1.0}),
        runs("other", {"base": 2.0, "a": 1.0}),
        runs("wires", {"base": 9.0, "a": 1.0}, simulated=True),
    ).across
    assert three.pool == ["real", "other"]
    assert three.pooled["a"].ratio == pytest.approx(2 * math.exp(_mean_noise()), rel=1e-6)
    (only,) = found(
        runs("x", {"base": 2.0, "a": 1.0}, simulated=True), runs("y", {"base": 2.0, "a": 1.0}, simulated=True)
    ).across
    assert "2 simulated clusters" in only.sentences[0]


def test_a_mean_over_clusters_says_what_their_times_are_worth():
    times = {"base": 2.0, "a": 1.0}
    shared = [replace(run, oversubscribed=True) for run in runs("small", times)]
    first, *rest = runs("busy", times)
    (across,) = found(shared, [replace(first, overlap="other"), *rest], runs("fine", times)).across
    assert across.sentences[0].endswith(
        "Oversubscribed, more ranks than cores: small. 1 run on busy overlapped with those of another cluster on "
        "its machine."
    )
    (fine,) = found(runs("one", times), runs("two", times)).across
    assert "versubscribed" not in fine.sentences[0] and "overlapped" not in fine.sentences[0]


def test_there_is_one_comparison_for_each_number_of_workers_that_clusters_share():
    everything = found(
        runs("one", {"base": 2.0, "a": 1.0}, workers=2),
        runs("two", {"base": 2.0, "a": 1.0}, workers=2),
        runs("two", {"base": 2.0, "a": 1.0}, workers=8),
    )
    assert [each.workers for each in everything.across] == [2]
    assert found(runs("one", {"base": 2.0, "a": 1.0})).across == []


def test_variants_without_a_mean_are_named_with_the_reason():
    (across,) = found(
        runs("one", {"base": 2.0, "a": 1.0}, seeds=2), runs("two", {"base": 2.0, "a": 1.0, "c": 1.0}, seeds=5)
    ).across
    assert across.pooled == {}
    assert across.left_out == {"a": "fewer than 3 seeds on one", "c": "c did not run on one"}
    assert "a: no mean, fewer than 3 seeds on one; c: no mean, c did not run on one." in across.sentences[0]


def test_a_simulated_cluster_in_a_reversal_is_labelled():
    (across,) = found(
        runs("lab", {"base": 4.0, "a": 1.0, "b": 2.0}),
        runs("sim", {"base": 4.0, "a": 2.0, "b": 1.0}, simulated=True),
    ).across
    (told,) = [said for said in across.sentences if said.startswith("The order changes")]
    assert "b is faster than a on sim (simulated, 2.0x" in told
    assert "lab (2.0x" in told


def test_a_reversal_is_corrected_for_the_clusters_too():
    """Truth: `a` and `b` alike on all of ten clusters but one; false reversals stay below 5%."""
    generator = random.Random(1)
    false = 0
    for _ in range(60):
        groups = []
        for k in range(10):
            drawn = [
                RunFigures(
                    *(variant, "sync-sgd", f"c{k}", 4, 0, seed, False, RunState.SUCCEEDED),
                    evaluated_part="validation",
                    clock=(met := seconds * math.exp(generator.gauss(0, 0.1))),
                    time_to_target=met,
                    target_after=met * (1 - 1e-9),
                )
                for variant, seconds in (("a", 1.0 if k else 0.5), ("b", 1.0))
                for seed in range(5)
            ]
            groups.append(drawn)
        (across,) = found(*groups, baseline="b").across
        false += bool(across.reversals)
    assert false <= 3 + 3 * math.sqrt(3)  # 5% of 60, and three standard deviations
