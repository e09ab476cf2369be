"""Clusters that differ in the speeds of their workers alone, and those that do not."""

import pytest
from hooke.comparison.spreads import spreads, why_no_axis
from hooke.spec.specification import ClusterChoice


def cluster(name="a", computed_on="local", workers=4, **virtual):
    document = {"name": name, "computed_on": computed_on, "workers": [workers], "virtual": virtual}
    return ClusterChoice.model_validate(document)


def test_clusters_are_told_apart_by_the_fastest_over_the_slowest_worker():
    equal, slow = cluster(), cluster("b", speeds=[1, 0.25])
    slowed = cluster(
        "c", devices=[{"kind": "cpu", "count": 3, "speed": 0.5}, {"kind": "cpu"}], speeds=[2, 1, 1, 8]
    )
    assert spreads([equal, slow, slowed], 4) == [1, 4, 16]
    assert spreads([equal, slow], 1) is None, "one worker has no spread"
    cards = [
        cluster(devices=[{"kind": kind, "count": 2}, {"kind": "k80", "speed": 2.2}]) for kind in ("k80", "k80")
    ]
    faster = cluster(devices=[{"kind": "k80", "count": 2, "speed": 4.4}, {"kind": "k80", "speed": 2.2}])
    assert spreads([*cards[:1], faster], 3) == pytest.approx([2.2, 2])


@pytest.mark.parametrize(
    "other",
    [
        cluster("b", speeds=[1, 0.25], latency=1e-3),
        cluster("b", speeds=[1, 0.25], computed_on="hpc"),
        cluster("b", speeds=[1, 0.25], devices=[{"kind": "v100", "count": 4}]),
        cluster("b", devices=[{"kind": "hogwild-cpu", "threads": 2, "count": 4, "speed": 0.5}], speeds=[1, 2]),
        cluster("b", speeds=[1, 1]),
        ClusterChoice(name="b", workers=[4]),
    ],
)
def test_where_anything_else_differs_there_is_no_axis(other):
    assert spreads([cluster(), other], 4) is None
    assert spreads([other], 4) is None


def real(name, *speeds, **more):
    workers = [{"kind": "cpu", "speed": speed} | more.pop("group", {}) for speed in speeds]
    return ClusterChoice.model_validate({"name": name, "workers": workers} | more)


def test_real_workers_that_are_slowed_down_on_one_cluster_have_an_axis():
    here = [real("even", 1.0, 1.0, computed_on="local"), real("slow", 1.0, 0.25, computed_on="local")]
    assert spreads(here, 2) == [1, 4]
    assert why_no_axis(here, 2) is None
    threads = real("c", 1.0, computed_on="local", group={"threads": 2})
    assert spreads([here[0], threads], 2) is None, "of other kinds"
    simulated = cluster("v", workers=2, speeds=[1, 0.5])
    assert spreads([*here, simulated], 2) is None
    assert why_no_axis([*here, simulated], 2).endswith("some are simulated, and others are not.")


def test_workers_without_a_kind_are_as_those_of_a_kind_only_where_the_experiment_says_of_which():
    """On a host with a GPU they compute on it: beside slowed CPUs the axis would be of devices, not of speeds."""
    plain = ClusterChoice(name="plain", computed_on="local", workers=[2])
    cpus, cards = (
        ClusterChoice(name=kind, computed_on="local", groups=[{"kind": kind}, {"kind": kind, "speed": 0.25}])
        for kind in ("cpu", "cuda")
    )
    assert spreads([plain, cpus], 2) is None
    assert spreads([plain, cards], 2) is None
    assert why_no_axis([plain, cpus], 2).endswith("which compute on what `compute.device: auto` finds.")
    assert spreads([plain, cpus], 2, "cpu") == [1, 4] == spreads([plain, cards], 2, "cuda")
    assert spreads([plain, cards], 2, "cpu") is None is spreads([plain, cpus], 2, "cuda")
    assert why_no_axis([plain, cpus], 2, "cpu") is None
    assert spreads([cluster(workers=2), cluster("b", workers=2, speeds=[1, 0.25])], 2, "cuda") == [1, 4]


def test_why_there_is_no_axis_is_told_where_workers_are_unequal():
    assert why_no_axis([cluster(), cluster("b", speeds=[1, 0.25])], 4) is None, "there is one"
    assert why_no_axis([cluster(), cluster("b", latency=1e-3)], 4) is None, "no speeds differ"
    assert why_no_axis([cluster("b", speeds=[1, 0.25])], 4) is None, "one cluster"
    straggling = why_no_axis([cluster(), cluster("b", straggling=0.02)], 4)
    assert straggling.startswith("Workers are unequal on b, but clusters are not ordered by the spread of speeds:")
    assert "stragglers" in straggling
    drifting = cluster("c", speed_changes=[{"at": 1.0, "speed": 0.5}])
    assert why_no_axis([cluster(), drifting], 4).startswith("Workers are unequal on c, ")
    both = why_no_axis([real("a", 1.0, 0.25), real("b", 1.0, 0.5)], 2)
    assert both.startswith("Workers are unequal on a and b, ") and both.endswith("machines, too.")
    changing = [{"kind": "cpu", "changes": [{"at": 1, "speed": 0.5}]}, {"kind": "cpu", "straggling": 0.1}]
    for group in changing:
        unsteady = cluster("c", devices=[group | {"count": 4}])
        assert why_no_axis([cluster(), unsteady], 4).startswith("Workers are unequal on c, ")
        assert why_no_axis([real("a", 1.0), ClusterChoice(name="b", groups=[group])], 1).startswith("Workers are")
    alike = why_no_axis([cluster(speeds=[1, 0.5]), cluster("b", speeds=[2, 1])], 4)
    assert alike.endswith("it is the same on all of them.")
