"""Samples of processes and of the host, against a /proc and a /sys made by hand."""

import json
import os

import pytest
from hooke.cluster.sampling import INTERVAL, STRETCH, Sampler
from hooke.spec.events import Start

TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
HERE = os.uname().nodename


def start(host, pid):
    told = {"role": "worker", "unix": 1.0, "monotonic": 1.0, "world": "mpi", "ranks": 1, "oversubscribed": False}
    return Start(seq=0, host=host, pid=pid, **told)


def process(root, pid, ticks, pages, name="a) b (c"):
    """Write /proc/<pid>/stat: fields 14 and 15 are ticks in user and system mode, 24 is resident pages."""
    fields = ["S", *["0"] * 10, str(ticks[0]), str(ticks[1]), *["0"] * 8, str(pages), *["0"] * 20]
    (root / f"proc/{pid}").mkdir(parents=True, exist_ok=True)
    (root / f"proc/{pid}/stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


def network(root, *devices):
    lines = [f"{name}: {received} 0 0 0 0 0 0 0 {sent} 0" for name, received, sent in devices]
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    (root / "proc/net/dev").write_text("\n".join(["Inter-|", " face |", *lines]) + "\n")


class Bench:
    def __init__(self, folder, **started):
        self.now, self.path = 0.0, folder / "system.jsonl"
        self.sampler = Sampler(self.path, {int(k[1:]): v for k, v in started.items()}, lambda: self.now, folder)

    def at(self, now):
        self.now = now
        self.sampler.look()
        return self.read()

    def read(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


def test_a_sample_has_processor_time_memory_and_network(tmp_path):
    process(tmp_path, 11, (3 * TICK, TICK), 5)
    network(tmp_path, ("lo", 999, 999), ("eth0", 100, 10), ("eth1", 20, 2))
    (found,) = Bench(tmp_path, r0=start(host=HERE, pid=11)).at(0)
    assert found["ranks"] == {"0": [4.0, 5 * PAGE]}
    assert found["network"] == [120, 12]
    assert found["host"] == HERE
    assert "joules" not in found
    assert "gpu" not in found


def test_power_and_gpus_where_they_can_be_read(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    for name, microjoules in (("intel-rapl:0", 5_000_000), ("intel-rapl:1", 2_500_000), ("intel-rapl:0:0", 9)):
        (tmp_path / "sys/class/powercap" / name).mkdir(parents=True)
        (tmp_path / "sys/class/powercap" / name / "energy_uj").write_text(f"{microjoules}\n")
    for card, percent in (("card0", 50), ("card1", 100)):
        (tmp_path / "sys/class/drm" / card / "device").mkdir(parents=True)
        (tmp_path / "sys/class/drm" / card / "device/gpu_busy_percent").write_text(f"{percent}\n")
    (found,) = Bench(tmp_path, r0=start(host=HERE, pid=11)).at(0)
    assert found["joules"] == 7.5
    assert found["gpu"] == 0.75
    assert "network" not in found


def test_ranks_elsewhere_are_left_out_and_a_shared_process_counts_once(tmp_path):
    process(tmp_path, 11, (TICK, 0), 1)
    started = {f"r{rank}": start(host=HERE, pid=11) for rank in range(3)}
    (found,) = Bench(tmp_path, **started, r3=start(host="far", pid=11)).at(0)
    assert list(found["ranks"]) == ["0"]


def test_nothing_is_written_before_and_after_the_ranks(tmp_path):
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    assert bench.at(0) == []
    process(tmp_path, 11, (0, 0), 1)
    assert len(bench.at(1)) == 1
    (tmp_path / "proc/11/stat").unlink()
    assert len(bench.at(100)) == 1


def test_the_interval_grows_so_that_days_have_hundreds_of_samples(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    assert len(bench.at(0)) == 1
    assert len(bench.at(INTERVAL - 0.1)) == 1
    assert len(bench.at(INTERVAL)) == 2
    late = 100_000.0
    assert len(bench.at(late)) == 3
    assert len(bench.at(late + STRETCH * late - 1)) == 3
    assert len(bench.at(late + STRETCH * late)) == 4


def test_a_full_disk_ends_the_samples_and_nothing_else(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    bench.path.mkdir()  # cannot be written
    bench.sampler.look()
    bench.path.rmdir()
    assert bench.at(100) == []


def test_it_reads_this_process(tmp_path):
    sampler = Sampler(tmp_path / "system.jsonl", {0: start(host=HERE, pid=os.getpid())})
    sampler.look()
    seconds, memory = json.loads((tmp_path / "system.jsonl").read_text())["ranks"]["0"]
    assert seconds == pytest.approx(sum(os.times()[:2]), abs=0.1)
    assert 1e6 < memory < 1e12
