"""What is said of a machine: control groups made by hand, the real machine against /proc."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hooke.hardware import description


def fake_root(tmp_path, groups: str, files: dict[str, str]):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path


@pytest.fixture
def sixteen_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)))


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/a/b\n", {}, 16),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "350000 100000"}, 3),
        ("0::/\n", {"cpu.max": "50000 100000"}, 1),
        ("0::/\n", {"cpu.max": "9900000 100000"}, 16),
        (
            "4:cpu,cpuacct:/job\n0::/\n",
            {"cpu,cpuacct/job/cpu.cfs_quota_us": "200000", "cpu,cpuacct/job/cpu.cfs_period_us": "100000"},
            2,
        ),
        ("4:cpu,cpuacct:/job\n", {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"}, 16),
        ("garbage:::\n", {"cpu.max": "rubbish"}, 16),
    ],
)
def test_quota_bounds_cores(tmp_path, sixteen_cores, groups, files, cores):
    assert description.usable_cores(fake_root(tmp_path, groups, files)) == cores


def test_memory_limit(tmp_path):
    root = fake_root(tmp_path, "0::/a\n", {"a/memory.max": "max", "memory.max": "1048576"})
    assert description.usable_memory(root) == 1048576
    assert description.usable_memory(tmp_path / "nowhere") > 2**20


X86 = "model name\t: AMD EPYC\ncpu family\t: {}\nmodel\t\t: {}\nstepping\t: 1\nflags\t\t: fpu {} avx2\n\n"


@pytest.mark.parametrize(
    ("cpuinfo", "generation", "bf16"),
    [
        (2 * X86.format(25, 1, "vaes"), "family 25 model 1", "emulated"),
        (2 * X86.format(26, 2, "avx512_bf16"), "family 26 model 2", "vectors"),
        (X86.format(6, 143, "avx512_bf16 amx_bf16 amx_tile"), "family 6 model 143", "tiles"),
        ("processor\t: 0\nFeatures\t: fp asimd bf16\nCPU part\t: 0xd4f\n", "", "vectors"),
        ("rubbish", "", "emulated"),
        ("", "", "emulated"),
    ],
)
def test_generations_of_a_processor_are_told_apart(tmp_path, cpuinfo, generation, bf16):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(cpuinfo)
    assert description.cpu_generation(tmp_path) == generation
    assert description.bf16_unit(tmp_path) == bf16


def test_affinity_bounds_cores():
    code = (
        "import os; from hooke.hardware.description import usable_cores;"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(usable_cores())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"1\n"


def test_describe_tells_this_machine_without_importing_anything_heavy():
    code = (
        "import sys; from hooke.hardware.description import describe; h, v = describe();"
        "assert not {'torch', 'numpy', 'mpi4py', 'pydantic'} & set(sys.modules); print(h, v)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found, versions = description.describe()
    import hooke
    import torch

    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert versions["torch"] == torch.__version__
    assert versions["hooke"] == hooke.__version__
    assert versions["mpi"].split()[1][0].isdigit()
    assert set(found) == {"host", "cpu", "cpu_generation", "cpu_bf16", "cores", "memory_bytes", "kernel"}
    cpuinfo = Path("/proc/cpuinfo").read_text()
    assert (found["cpu_bf16"] != "emulated") == ("bf16" in cpuinfo)
    assert found["cpu_generation"] or "cpu family" not in cpuinfo
    assert found["host"] == os.uname().nodename
    assert str(found["cpu"]) in out
    assert 1 <= found["cores"] <= os.cpu_count()
