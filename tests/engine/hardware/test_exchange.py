"""Which way vectors would travel: libraries compiled here that answer as the documented ones do."""

import shutil
import subprocess
import sys

import pytest
from hooke.hardware.exchange import cuda_awareness, cuda_devices, path

OPEN_MPI = "int MPIX_Query_cuda_support(void) { return %d; }"
MPICH = "int MPIX_GPU_query_support(int kind, int *yes) { *yes = kind == 0 ? %d : 7; return 0; }"


@pytest.fixture
def library(tmp_path):
    def build(source: str):
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler to build a library that answers")
        (tmp_path / "answer.c").write_text(source)
        made = tmp_path / "libmpi.so.0"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", made, tmp_path / "answer.c"], check=True)
        return made

    return build


@pytest.mark.parametrize("source", [OPEN_MPI, MPICH])
@pytest.mark.parametrize("answer", [0, 1])
def test_the_library_is_asked(library, source, answer):
    made = library(source % answer)
    found = cuda_awareness({"MV2_USE_CUDA": "1"}, made)
    assert found.cuda == bool(answer)
    assert "libmpi.so.0 reports it" in found.why
    assert not cuda_awareness({"MPIR_CVAR_ENABLE_GPU": "0"}, made).cuda


@pytest.mark.parametrize(
    ("variables", "cuda", "word"),
    [
        ({}, False, "does not report support"),
        ({"MV2_USE_CUDA": "1"}, True, "MVAPICH2"),
        ({"MPICH_GPU_SUPPORT_ENABLED": "1"}, True, "Cray MPICH"),
        ({"MPICH_GPU_SUPPORT_ENABLED": "0", "I_MPI_OFFLOAD": "1"}, False, "disables it"),
        ({"I_MPI_OFFLOAD": ""}, False, "does not report support"),
    ],
)
def test_variables_speak_where_the_library_is_silent(tmp_path, variables, cuda, word):
    silent = tmp_path / "libmpi.so.0"
    silent.write_text("not a library")
    found = cuda_awareness(variables, silent)
    assert found.cuda == cuda
    assert word in found.why


def test_the_loaded_library_is_found():
    code = (
        "from mpi4py import MPI; from hooke.hardware.exchange import loaded_library, cuda_awareness;"
        "print(loaded_library().is_file(), cuda_awareness({}))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out.startswith("True Awareness(cuda=")


def test_devices_of_the_driver(tmp_path):
    assert cuda_devices(tmp_path) == ()
    for slot, model in (("0000:18:00.0", "NVIDIA H200"), ("0000:9a:00.0", "NVIDIA A100-SXM4-40GB")):
        place = tmp_path / "proc/driver/nvidia/gpus" / slot
        place.mkdir(parents=True)
        (place / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 1\n")
    assert cuda_devices(tmp_path) == ("NVIDIA H200", "NVIDIA A100-SXM4-40GB")


def test_the_way_is_said_with_its_reason(tmp_path):
    silent = tmp_path / "libmpi.so.0"  # another test may have loaded a library that speaks for itself
    silent.write_text("not a library")
    aware, not_aware = (cuda_awareness({"MV2_USE_CUDA": value}, silent) for value in "10")
    assert path(0, aware).startswith("directly from main memory")
    assert path(2, not_aware).startswith("through pinned host buffers, because MPI does not support device memory")
    assert "MV2_USE_CUDA=0" in path(2, not_aware)
    assert path(1, aware).startswith("through pinned host buffers, because sums are computed on the host")
