"""The machine's structure, read from expanded trees, against what is known of each machine; ours against lscpu."""

import os
import shutil
import subprocess

import pytest
from hooke.hardware.files import parse_list, write_list
from hooke.hardware.topology import read
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.hardware.machines import expand, machine

KNOWN = {
    # name: (sockets, cores, threads per core, nodes with cpus, L3 domains, cores sharing an L2, fast nodes)
    "knl-quadrant-flat": (1, 68, 4, 1, 0, 2, [1]),
    "knl-snc4-flat": (1, 68, 4, 4, 0, 2, [4, 5, 6, 7]),
    "epyc-7763-2s-nps4": (2, 128, 2, 8, 16, 1, []),
    "epyc-7763-2s-nps1": (2, 128, 2, 2, 16, 1, []),
    "xeon-max-9480-snc4-flat": (2, 112, 2, 8, 2, 1, list(range(8, 16))),
    "cxl": (1, 64, 2, 1, 1, 1, []),
    "here": (1, 2, 1, 1, 1, 1, []),
}


@pytest.mark.parametrize("name", KNOWN)
def test_structure(name):
    found = machine(name)
    threads = {len(core.cpus) for core in found.cores}
    l3 = {core.l3 for core in found.cores if core.l3}
    l2 = {len(core.l2) // len(core.cpus) for core in found.cores}
    nodes = sum(bool(node.cpus) for node in found.nodes)
    assert (len(found.sockets), len(found.cores), *threads, nodes, len(l3), *l2, list(found.fast)) == KNOWN[name]
    assert sorted(cpu for core in found.cores for cpu in core.cpus) == list(range(len(found.cores) * min(threads)))
    assert found.allowed == {cpu for core in found.cores for cpu in core.cpus}


def test_cores_lie_in_the_node_that_names_their_threads():
    found = machine("knl-snc4-flat")
    assert [sum(core.node == node for core in found.cores) for node in range(4)] == [18, 18, 16, 16]
    assert next(core for core in found.cores if 240 in core.cpus).cpus == (36, 104, 172, 240)
    assert found.node(2).distances == {0: 21, 1: 21, 2: 10, 3: 21, 4: 41, 5: 41, 6: 31, 7: 41}


def test_free_memory_counts_the_file_cache():
    found = machine("knl-quadrant-flat").node(1)
    assert found.memory_only
    assert found.size == 16 * 2**30
    assert found.free == pytest.approx(15.8 * 2**30, rel=1e-6)


def added(root, total, available):
    (root / "proc/meminfo").write_text(f"MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n")
    return read(root)


def test_the_only_node_has_all_of_the_machines_memory(tmp_path):
    """Also memory that a virtual machine got while it ran, of which the node's own file knows nothing."""
    root = expand("here", tmp_path)
    before = read(root)
    assert before.memory == (0, 0)
    found = added(root, 24684084, 23404700)
    assert found.memory == (24684084 * 1024, 23404700 * 1024)
    assert (found.nodes[0].size, found.nodes[0].free) == found.memory
    assert before.nodes[0].size < found.nodes[0].size


def test_of_several_nodes_each_keeps_its_own(tmp_path):
    root = expand("epyc-7763-2s-nps1", tmp_path)
    before = read(root).nodes
    assert added(root, 10**9, 10**9).nodes == before
    found = read(expand("cxl", tmp_path / "cxl"))
    assert sum(node.size > 0 for node in found.nodes) > 1


@pytest.mark.skipif(shutil.which("free") is None, reason="NOT TESTED HERE: there is no `free`")
def test_it_agrees_with_free():
    said = subprocess.run(["free", "-b"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    row = next(line for line in said.splitlines() if line.startswith("Mem:")).split()
    found = read()
    assert found.memory[0] == int(row[1])
    assert found.memory[1] == pytest.approx(int(row[6]), rel=0.05)
    if sum(node.size > 0 for node in found.nodes) == 1:
        assert sum(node.size for node in found.nodes) == int(row[1])


def test_allowed_cpus_come_from_affinity_and_cpuset(tmp_path):
    files = {"cpuset.cpus.effective": "0-5,64-69", "cpuset.mems.effective": "0", "cpu.max": "350000 100000"}
    found = read(expand("epyc-7763-2s-nps1", tmp_path, "4-9,132", cgroup=files))
    assert found.allowed == {4, 5}
    assert found.memory_allowed == {0}
    assert found.quota == 3.5
    assert [core.cpus for core in found.usable] == [(4,), (5,)]


def test_cpuset_of_version_1(tmp_path):
    root = expand("here", tmp_path)
    (root / "proc/self/cgroup").write_text("7:cpuset:/a/b\n")
    (root / "sys/fs/cgroup/cpuset/a").mkdir(parents=True)
    (root / "sys/fs/cgroup/cpuset/a/cpuset.cpus").write_text("1\n")
    assert read(root).allowed == {1}


def test_an_offline_thread_belongs_to_no_core(tmp_path):
    root = expand("here", tmp_path)
    (root / "sys/devices/system/cpu/online").write_text("0\n")
    assert [core.cpus for core in read(root).cores] == [(0,)]


def test_without_sysfs_every_allowed_cpu_is_a_core(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("Cpus_allowed_list:\t2-4\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 2048 kB\nMemFree: 1024 kB\n")
    found = read(tmp_path)
    assert [core.cpus for core in found.usable] == [(2,), (3,), (4,)]
    assert (found.nodes[0].size, found.nodes[0].free) == (2 << 20, 1 << 20)


@pytest.mark.parametrize(("slow", "fast", "expected"), [(4, 3, [1]), (4, 5, [])])
def test_memory_tiers_tell_fast_from_slow(tmp_path, slow, fast, expected):
    root = expand("cxl", tmp_path)
    (root / "sys/devices/system/node/node1/access0/initiators/read_bandwidth").unlink()
    for tier, node in ((slow, 0), (fast, 1)):
        place = root / f"sys/devices/virtual/memory_tiering/memory_tier{tier}"
        place.mkdir(parents=True)
        (place / "nodelist").write_text(f"{node}\n")
    assert list(read(root).fast) == expected


def test_bandwidth_of_the_firmware_tells_fast_from_slow(tmp_path):
    root = expand("cxl", tmp_path)
    (root / "sys/devices/system/node/node1/access0/initiators/read_bandwidth").write_text("900000\n")
    assert read(root).fast == {1: "900 GB/s against 358"}


@given(st.sets(st.integers(0, 300)))
def test_lists_come_back(numbers):
    assert parse_list(write_list(numbers)) == numbers


@pytest.mark.parametrize("rubbish", ["", "x", "1-", "-3", "a-b"])
def test_rubbish_is_no_list(rubbish):
    assert parse_list(rubbish) <= {1}


def test_this_machine_as_other_tools_see_it():
    found = read()
    assert found.allowed == os.sched_getaffinity(0)
    assert found.nodes[0].size > 0
    if shutil.which("lscpu") is None:
        pytest.skip("no lscpu on this machine")
    rows = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET,NODE"], capture_output=True, text=True, check=True).stdout
    listed = [line.split(",") for line in rows.splitlines() if not line.startswith("#")]
    assert len(found.cores) == len({(core, socket) for _, core, socket, _ in listed})
    assert {(cpu, core.node) for core in found.cores for cpu in core.cpus} == {
        (int(cpu), int(node or 0)) for cpu, _, _, node in listed
    }
