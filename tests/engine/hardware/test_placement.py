"""Who gets which cores and which memory: properties over all machines, and the cases one would draw by hand."""

from dataclasses import replace

import pytest
from hooke.errors import LaunchError
from hooke.hardware.placement import plan
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.hardware.machines import MACHINES, machine

GIB = 2**30


@st.composite
def cases(draw):
    """A machine, possibly with part of it allowed, a number of ranks, what to divide first, a need."""
    name = draw(st.sampled_from(MACHINES))
    whole = machine(name)
    allowed = whole.allowed
    if draw(st.booleans()):
        cpus = sorted(cpu for core in whole.cores for cpu in core.cpus)
        start = draw(st.integers(0, len(cpus) - 1))
        length = draw(st.integers(1, len(cpus) - start))
        allowed = frozenset(cpus[start : start + length])
    server = draw(st.booleans())
    ranks = draw(st.integers(2 if server else 1, 140))
    by = draw(st.sampled_from(["core", "l3", "numa"]))
    need = draw(st.none() | st.integers(1, 40 * GIB))
    return replace(whole, allowed=allowed), ranks, by, need, server


@settings(max_examples=60, deadline=None)
@given(cases())
def test_every_rank_gets_its_own_part_of_what_is_allowed(case):
    topology, ranks, by, need, server = case
    placement = plan(topology, ranks, by, need, server)
    workers = placement.shares[: ranks - server]
    given_out = [cpu for share in workers for cpu in share.cpus]
    assert len(placement.shares) == ranks
    assert all(share.cpus and share.threads >= 1 for share in placement.shares)
    assert {cpu for share in placement.shares for cpu in share.cpus} <= topology.allowed
    core_of = {cpu: i for i, core in enumerate(topology.usable) for cpu in core.cpus}
    if len(workers) <= len(topology.usable):
        assert len({core_of[cpu] for cpu in given_out}) == len(given_out), "two threads of one core"
        assert all(share.threads == len(share.cpus) for share in workers)
        own = placement.shares[-1].cpus if server else ()
        if server and len(workers) < len(topology.usable):
            assert not {core_of[cpu] for cpu in own} & {core_of[cpu] for cpu in given_out}
            assert len(given_out) == len(topology.usable) - 1
        else:
            assert len(given_out) == len(topology.usable), "a core is left idle"


@settings(max_examples=60, deadline=None)
@given(cases())
def test_groups_are_balanced_and_keep_inside_borders(case):
    topology, ranks, by, need, server = case
    cores = topology.usable
    workers = ranks - server
    shares = plan(topology, ranks, by, need, server).shares[:workers]
    sizes = [len(share.cpus) for share in shares]
    if workers > len(cores):
        return
    nodes = {core.node for core in cores}
    whole = [sum(core.node == node for core in cores) for node in nodes]
    if (
        by == "core"
        or workers < len(nodes)
        or (by == "numa" and len(set(whole)) == 1 and workers % len(nodes) == 0)
    ):
        assert max(sizes) - min(sizes) <= 1
    if by != "core" and workers >= len(nodes):
        assert all(len(share.nodes) == 1 for share in shares)
        for node in nodes if by == "numa" and not server else ():
            inside = [len(share.cpus) for share in shares if share.nodes == (node,)]
            assert max(inside) - min(inside) <= 1
    domains = {(core.node, core.l3) for core in cores}
    if by == "l3" and workers >= len(domains) == len(nodes):
        of = {cpu: (core.node, core.l3) for core in cores for cpu in core.cpus}
        assert all(len({of[cpu] for cpu in share.cpus}) == 1 for share in shares)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_what_is_put_into_a_memory_fits_there(case):
    topology, ranks, by, need, server = case
    memory = plan(topology, ranks, by, need, server).memory
    if need is None:
        return
    for node in topology.nodes:
        copies = sum(need / len(nodes) for nodes in memory.nodes if node.number in nodes)
        assert copies <= node.free * (1 + 1e-12)
    assert {node for nodes in memory.nodes for node in nodes} <= topology.memory_allowed
    if memory.kind == "fast":
        assert {node for nodes in memory.nodes for node in nodes} <= set(topology.fast)
    elif topology.fast and ranks * need <= min(topology.node(node).free for node in topology.fast):
        assert not set(topology.fast) & topology.memory_allowed, "all would have fitted into any fast node"


def test_knl_as_in_the_paper():
    """4 groups in quadrant mode share one MCDRAM; 16 copies of AlexNet and CIFAR (0.9 GiB) fit, 32 do not."""
    topology = machine("knl-quadrant-flat")
    four = plan(topology, 4, "numa", 900 << 20)
    assert [len(share.cpus) for share in four.shares] == [17] * 4
    assert four.shares[1].cpus == tuple(range(17, 34))
    assert {share.memory for share in four.shares} == {(1,)}
    assert plan(topology, 16, "numa", 900 << 20).memory.kind == "fast"
    many = plan(topology, 32, "numa", 900 << 20)
    assert many.memory.kind == "own"
    assert {share.memory for share in many.shares} == {(0,)}
    assert "node 1 has 15.8 GiB free, 32 copies of 900 MiB need 28.1 GiB; 17 would fit" in " ".join(many.why)
    nowhere = plan(topology, 32, "numa", 8 * GIB)
    assert nowhere.memory.kind == "none"
    assert "left to the kernel" in nowhere.why[-1]


def test_clusters_of_unequal_size_keep_their_own_mcdram():
    shares = plan(machine("knl-snc4-flat"), 4, "numa", GIB).shares
    assert [(len(s.cpus), s.nodes, s.memory) for s in shares] == [
        (18, (0,), (4,)), (18, (1,), (5,)), (16, (2,), (6,)), (16, (3,), (7,)),
    ]  # fmt: skip
    five = plan(machine("knl-snc4-flat"), 8, "numa", 3 * GIB)
    assert five.memory.kind == "own", "two copies of 3 GiB do not fit into 4 GiB, 24 GiB of DDR take them"


def test_xeon_max_prefers_the_hbm_of_its_cluster():
    shares = plan(machine("xeon-max-9480-snc4-flat"), 8, "l3", 10 * GIB).shares
    assert [share.memory for share in shares] == [(8 + i,) for i in range(8)]
    two = plan(machine("xeon-max-9480-snc4-flat"), 2, "numa", 60 * GIB)
    assert [share.memory for share in two.shares] == [(8, 9, 10, 11), (12, 13, 14, 15)]


def test_hbm_that_a_cpuset_withholds_is_not_used():
    placement = plan(
        replace(machine("xeon-max-9480-snc4-flat"), memory_allowed=frozenset(range(8))), 8, "numa", GIB
    )
    assert placement.memory.kind == "own"
    assert "nodes 8-15, which this process may not use" in " ".join(placement.why)


def test_epyc_gives_each_rank_an_l3():
    for name in ("epyc-7763-2s-nps4", "epyc-7763-2s-nps1"):
        shares = plan(machine(name), 16, "l3").shares
        assert [share.cpus for share in shares] == [tuple(range(8 * i, 8 * i + 8)) for i in range(16)]


def test_slow_memory_is_not_taken_for_fast():
    placement = plan(machine("cxl"), 4, "numa", GIB)
    assert {share.memory for share in placement.shares} == {(0,)}
    assert "it is not known to be fast" in " ".join(placement.why)


def test_more_ranks_than_cores_use_second_threads_first():
    assert [s.cpus for s in plan(machine("cxl"), 65, "numa").shares][63:] == [(63,), (64,)]
    three = plan(machine("here"), 3, "core")
    assert [share.cpus for share in three.shares] == [(0,), (1,), (0,)]
    assert "outnumber 2 cores" in three.why[0]


@pytest.mark.parametrize(
    ("name", "ranks", "cpus", "word"),
    [
        ("here", 3, (0, 1), "may run on any core"),
        ("here", 2, (1,), "core 1 to itself"),
        ("cxl", 65, tuple(range(64, 128)), "second hardware threads"),
    ],
)
def test_a_server_gets_a_core_where_one_is_left(name, ranks, cpus, word):
    placement = plan(machine(name), ranks, "core", server=True)
    assert placement.shares[-1].cpus == cpus
    assert placement.shares[-1].threads == 1
    assert word in " ".join(placement.why)


def test_a_quota_pins_nothing():
    topology = replace(machine("epyc-7763-2s-nps1"), quota=9.0)
    placement = plan(topology, 4)
    assert not placement.pinned
    assert [share.threads for share in placement.shares] == [2] * 4
    assert all(set(share.cpus) == topology.allowed for share in placement.shares)


def test_uneven_groups_say_what_would_be_even():
    assert "a multiple of 8 workers would" in " ".join(plan(machine("epyc-7763-2s-nps4"), 12, "numa").why)


@pytest.mark.parametrize(("ranks", "server"), [(0, False), (1, True)])
def test_nobody_to_place(ranks, server):
    with pytest.raises(LaunchError, match="no worker to place"):
        plan(machine("here"), ranks, server=server)


def test_a_worker_has_as_many_cores_as_threads():
    """Two workers of one thread and one of six, on 128 cores: an eighth of the cores for each thread."""
    placement = plan(machine("epyc-7763-2s-nps1"), 3, "core", threads=(1, 6, 1))
    assert [share.cpus for share in placement.shares] == [
        tuple(range(16)), tuple(range(16, 112)), tuple(range(112, 128)),
    ]  # fmt: skip
    assert "3 workers with 8 threads" in " ".join(placement.why)
    assert plan(machine("cxl"), 4, "core", threads=(1,) * 4) == plan(machine("cxl"), 4, "core")


def test_a_server_takes_no_core_that_a_thread_needs():
    shares = plan(machine("here"), 2, "core", server=True, threads=(2,)).shares
    assert [share.cpus for share in shares] == [(0, 1), (0, 1)], "it may run on any core"
    crowded = plan(machine("here"), 2, "core", threads=(3, 1)).shares
    assert [share.cpus for share in crowded] == [(0, 1), (1,)]
