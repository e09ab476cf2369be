"""Samples of processes and of the host, against a /proc and a /sys made by hand."""

import json
import os
import shutil

import pytest
from hooke.cluster.gpus import GpuMeter
from hooke.cluster.sampling import INTERVAL, STRETCH, Sampler
from hooke.hardware.gpus import DEVICE_ID
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


def packages(root, *microjoules):
    for i, value in enumerate(microjoules):
        folder = root / f"sys/class/powercap/intel-rapl:{i}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "name").write_text(f"package-{i}\n")
        (folder / "max_energy_range_uj").write_text("262143328850\n")
        (folder / "energy_uj").write_text(f"{value}\n")


def busy(root, seconds):
    """Write /proc/stat: processor time of all processes, beside an hour that was idle."""
    fields = [seconds * TICK, 0, 0, 3600 * TICK, 9, 0, 0, 7, 0, 0]
    (root / "proc/stat").write_text(f"cpu  {' '.join(map(str, fields))}\ncpu0 1 2 3\n")


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
    assert found["no_joules"] == f"not readable here: no counter of RAPL in {tmp_path}/sys/class/powercap"
    assert "gpu" not in found


def test_power_and_gpus_where_they_can_be_read(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    packages(tmp_path, 5_000_000, 2_500_000)
    for card, percent in (("card0", 50), ("card1", 100)):
        (tmp_path / "sys/class/drm" / card / "device").mkdir(parents=True)
        (tmp_path / "sys/class/drm" / card / "device/gpu_busy_percent").write_text(f"{percent}\n")
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    (first,) = bench.at(0)
    assert (first["joules"], first["since"]) == (0, 0)
    assert first["gpu"] == 0.75
    assert "network" not in first
    packages(tmp_path, 6_000_000, 3_000_000)
    assert bench.at(10)[1]["joules"] == 1.5


class Devices:
    """What NVML would say, one device: 2 J per second, half of it busy."""

    def __init__(self, bench):
        self.bench = bench

    def energy(self, device):
        return round(2000 * self.bench().now)

    def busy(self, device):
        return 0.5

    def memory(self, device):
        return 1 << 30


def test_the_devices_of_the_ranks_are_sampled_beside_the_processors(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    notes = {"device": "cuda:0, NVIDIA H200", DEVICE_ID: "GPU-a"}
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11).model_copy(update={"notes": notes}))
    bench.sampler._gpus = GpuMeter(Devices(lambda: bench))
    first = bench.at(100)[0]
    assert (first["gpu_joules"], first["gpu"], first["gpu_memory"]) == (0, 0.5, 1 << 30)
    assert "no counter of RAPL" in first["no_joules"]
    assert bench.at(110)[1]["gpu_joules"] == 20
    bench.now = 112
    bench.sampler.end()
    assert bench.read()[-1]["gpu_joules"] == 24


def test_the_last_sample_has_the_energy_to_the_end_and_how_much_of_the_host_was_ours(tmp_path):
    for pid, seconds in ((11, 5), (12, 50)):
        process(tmp_path, pid, (seconds * TICK, 0), 1)
    packages(tmp_path, 0)
    busy(tmp_path, 1000)
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11), r1=start(host=HERE, pid=12))
    bench.at(100)
    for pid, seconds in ((11, 9), (12, 55)):
        process(tmp_path, pid, (seconds * TICK, 0), 1)
    packages(tmp_path, 4_000_000)
    busy(tmp_path, 1012)
    bench.at(110)
    shutil.rmtree(tmp_path / "proc/11")
    shutil.rmtree(tmp_path / "proc/12")
    packages(tmp_path, 5_000_000)
    bench.now = 112.5
    bench.sampler.end()
    bench.sampler.end()
    last = bench.read()[-1]
    assert len(bench.read()) == 3
    assert (last["ranks"], last["joules"], last["since"], last["last"]) == ({}, 5.0, 12.5, True)
    assert last["own"] == pytest.approx((4 + 5) / 12)
    assert len(bench.at(1000)) == 3


def test_without_a_first_sample_there_is_no_last_one(tmp_path):
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    bench.sampler.end()
    assert bench.read() == []


def test_counters_of_energy_are_read_between_samples_that_are_far_apart(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    packages(tmp_path, 0)
    bench = Bench(tmp_path, r0=start(host=HERE, pid=11))
    bench.at(0)
    late = 200_000
    bench.at(late)
    packages(tmp_path, 200_000_000_000)  # 200 kJ, and then beyond its end
    assert len(bench.at(late + 900)) == 2
    packages(tmp_path, 100_000_000_000)
    assert len(bench.at(late + 1800)) == 2
    assert bench.at(late + 2000)[-1]["joules"] == pytest.approx(262_143.328 + 100_000, abs=0.01)


def test_where_ranks_are_elsewhere_the_energy_of_this_host_is_not_that_of_the_run(tmp_path):
    process(tmp_path, 11, (0, 0), 1)
    packages(tmp_path, 0)
    (found,) = Bench(tmp_path, r0=start(host=HERE, pid=11), r1=start(host="far", pid=11)).at(0)
    assert "joules" not in found
    assert found["no_joules"] == "not known: ranks on other hosts than their supervisor's (1)"


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
