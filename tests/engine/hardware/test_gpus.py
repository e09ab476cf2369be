"""NVIDIA's devices through a library compiled here, with the calls of NVML that are used, and numbers of tests."""

import ctypes
import shutil
import subprocess
from types import SimpleNamespace

import pytest
import torch
from hooke.cluster.gpus import USE_EVERY, GpuMeter, of_both
from hooke.hardware import gpus
from hooke.hardware.gpus import DEVICE_ID, Nvml
from hooke.hardware.placing import notes_of
from hooke.spec.events import Start

SOURCE = """
#include <string.h>
unsigned long long energy[2], used[2];
unsigned busy[2];
int begins, tells;                                       /* statuses of starting, and of the energy */
static int numbers[2] = {0, 1};
int nvmlInit_v2(void) { return begins; }
const char *nvmlErrorString(int s) {
    return s == 9 ? "Driver Not Loaded" : s == 3 ? "Not Supported" : "Not Found";
}
int nvmlDeviceGetHandleByUUID(const char *id, void **out) {
    if (strcmp(id, "GPU-a") && strcmp(id, "GPU-b")) return 6;
    *out = &numbers[id[4] - 'a'];
    return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *of, unsigned long long *out) {
    *out = energy[*(int *)of];
    return tells;
}
int nvmlDeviceGetUtilizationRates(void *of, unsigned *out) { out[0] = busy[*(int *)of]; out[1] = 77; return 0; }
int nvmlDeviceGetMemoryInfo(void *of, unsigned long long *out) {
    out[0] = 1000; out[1] = 1000 - used[*(int *)of]; out[2] = used[*(int *)of];
    return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a library that answers")
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "nvml.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "nvml.so", folder / "nvml.c"], check=True)
    return ctypes.CDLL(str(folder / "nvml.so"))


class Driver:
    def __init__(self, library):
        self.shared_object = library
        self.set(energy=(0, 0), used=(0, 0), busy=(0, 0), begins=0, tells=0)

    def set(self, **values):
        for name, value in values.items():
            if isinstance(value, int):
                ctypes.c_int.in_dll(self.shared_object, name).value = value
            else:
                kind = ctypes.c_uint if name == "busy" else ctypes.c_ulonglong
                (kind * 2).in_dll(self.shared_object, name)[:] = value


@pytest.fixture
def driver(built):
    return Driver(built)


def rank(identity="GPU-a", host="here", **notes):
    told = {"role": "worker", "unix": 1.0, "monotonic": 1.0, "world": "mpi", "ranks": 2, "oversubscribed": False}
    named = {"device": "cuda:0, NVIDIA H200", DEVICE_ID: identity} if identity else {"device": "cpu"}
    return Start(seq=0, host=host, pid=7, notes=named | notes, **told)


def test_a_counter_that_begins_anew_leaves_the_energy_unknown_instead_of_negative(driver):
    driver.set(energy=(5_000_000, 9_000_000))
    meter = GpuMeter(Nvml(driver.shared_object))
    for energy in (5_000_000, 5_002_500, 1_000, 6_000_000):
        driver.set(energy=(energy, 0))
        meter.read([rank()], "here")
    assert (meter.used, meter.joules) == (True, None)
    assert "began anew" in meter.lacking
    assert of_both(40.0, "", meter)[0] is None


def test_energy_is_what_the_ranks_devices_used_since_the_first_reading(driver):
    driver.set(energy=(5_000_000, 9_000_000))
    meter = GpuMeter(Nvml(driver.shared_object))
    assert not meter.used
    meter.read([rank(None), rank("GPU-b", host="there")], "here")
    assert not meter.used
    meter.read([rank(), rank()], "here")  # two ranks share it
    assert (meter.used, meter.joules, meter.lacking) == (True, 0, "")
    driver.set(energy=(5_002_500, 9_999_000))
    meter.read([rank(), rank()], "here")
    assert meter.joules == 2.5
    meter.read([rank(), rank("GPU-b")], "here")  # another rank has begun
    driver.set(energy=(5_003_000, 9_999_250))
    meter.read([rank(), rank("GPU-b")], "here")
    assert meter.joules == pytest.approx(3.25)


@pytest.mark.parametrize(
    ("told", "known"), [("3713df95-95c9", "GPU-3713df95-95c9"), ("MIG-1", "MIG-1"), (None, "")]
)
def test_a_rank_names_the_device_that_pytorch_uses(monkeypatch, told, known):
    properties = SimpleNamespace() if told is None else SimpleNamespace(uuid=told)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    assert gpus.device_id("cuda:1") == known
    assert gpus.device_id(torch.device("cpu")) == ""
    found = notes_of(None, SimpleNamespace(layout=(), device="cuda:1"), staged=True)
    assert found.get(DEVICE_ID, "") == known


def test_use_is_a_mean_over_time_and_devices(driver):
    meter, ranks = GpuMeter(Nvml(driver.shared_object)), [rank("GPU-a"), rank("GPU-b")]
    assert (meter.busy(), meter.memory()) == (None, None)
    driver.set(busy=(100, 50), used=(300, 400))
    meter.look(10.0, ranks, "here")
    driver.set(busy=(0, 0))
    meter.look(10.0 + USE_EVERY / 2, ranks, "here")  # too early
    meter.look(10.0 + USE_EVERY, ranks, "here")
    assert meter.busy() == pytest.approx((0.75 + 0) / 2)
    assert meter.busy() is None
    assert meter.memory() == 700


def test_what_cannot_be_read_says_why(driver, monkeypatch):
    meter = GpuMeter(Nvml(driver.shared_object))
    driver.set(tells=3, busy=(20, 0))
    meter.look(0.0, [rank()], "here")
    assert (meter.used, meter.joules) == (True, None)
    assert meter.lacking == "not readable here: NVML: nvmlDeviceGetTotalEnergyConsumption: Not Supported"
    assert meter.busy() == 0.2
    unknown = GpuMeter(Nvml(driver.shared_object))
    unknown.read([rank("GPU-c")], "here")
    assert unknown.lacking.endswith("nvmlDeviceGetHandleByUUID: Not Found")
    driver.set(begins=9)
    with pytest.raises(OSError, match="nvmlInit_v2: Driver Not Loaded"):
        Nvml(driver.shared_object)
    monkeypatch.setattr(gpus, "LIBRARY", "libno-such-library.so.1")
    without = GpuMeter()
    without.read([rank()], "here")
    assert "libno-such-library.so.1" in without.lacking
    nameless = GpuMeter()
    nameless.read([rank(None, device="cuda:0, NVIDIA K80")], "here")
    assert nameless.lacking == "not known: PyTorch does not tell the ids of its devices"


def test_the_energy_of_a_run_is_that_of_all_that_it_used(driver):
    meter = GpuMeter(Nvml(driver.shared_object))
    assert of_both(100.0, "", meter) == (100.0, "")
    assert of_both(None, "no counter", meter) == (None, "no counter")
    meter.read([rank()], "here")
    driver.set(energy=(1_234_500, 0))
    meter.read([rank()], "here")
    assert of_both(100.0, "", meter) == (1334.5, "its GPUs used 1,234 J of it")
    assert of_both(None, "no counter", meter) == (None, "no counter; its GPUs used 1,234 J")
    driver.set(tells=3)
    meter.read([rank()], "here")
    joules, note = of_both(100.0, "", meter)
    assert joules is None
    assert note.startswith("GPUs: not readable here: NVML")
