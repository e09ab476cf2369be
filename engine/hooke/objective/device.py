"""The device and the number of threads of a rank: resolves `Compute`, with notes for the journal.

On a CUDA device fp32 is float32: TF32, which PyTorch uses in convolutions unless told otherwise, has 10 bits of
precision instead of 23 and is off, in the whole process. cuDNN is asked for algorithms whose results do not depend
on the order in which threads end, so that a run that goes on from a checkpoint has the bits of one that was not
interrupted.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from numpy.typing import NDArray

from hooke.errors import LaunchError
from hooke.hardware.description import bf16_unit
from hooke.spec.specification import Compute

LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK")
"""Environment variables in which launchers pass the local rank."""


def local_rank(rank: int) -> int:
    """Return the local rank on this host; `rank` itself without a launcher (threads of one process)."""
    said = (os.environ.get(name, "") for name in LOCAL_RANK)
    return next((int(text) for text in said if text.isdigit()), rank)


def choose(compute: Compute, rank: int) -> torch.device:
    """Return the device of a rank: CUDA device `local rank % count` of its host, or the CPU.

    Raises LaunchError if CUDA is requested and there is no device.
    """
    if compute.device == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count:
        device = torch.device("cuda", local_rank(rank) % count)
        torch.cuda.set_device(device)
        exactly()
        return device
    if compute.device == "cuda":
        raise LaunchError(
            "compute.device, or the kind of a worker, is `cuda`, but PyTorch finds no CUDA device on this host: "
            "ask for `auto` or `cpu`, or look at the driver and at CUDA_VISIBLE_DEVICES"
        )
    return torch.device("cpu")


def exactly() -> None:
    """Compute float32 in float32 on CUDA devices, and the same bits again and again; for the whole process."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS: results do not depend on its workspace
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False  # algorithms chosen by time would differ from run to run
    torch.backends.cudnn.deterministic = True


def channels_last(compute: Compute, device: torch.device) -> bool:
    """Return whether images are in channels-last order, the faster one on a CPU and for the units for bf16."""
    return device.type == "cpu" or compute.precision == "bf16"


def name_of(device: torch.device) -> str:
    """Return a device in words, for the journal: `cpu`, or its number and card."""
    return "cpu" if device.type == "cpu" else f"{device}, {torch.cuda.get_device_name(device)}"


def synchronize(device: torch.device) -> None:
    """Wait until the device has completed all work; return at once for a CPU."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def moved(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return an array as a tensor of the device: in its own memory for the CPU, else a copy.

    The call does not wait for work on the device: ordinary host memory is read before it returns.
    """
    return torch.from_numpy(array).to(device, non_blocking=True)


def global_draws(device: torch.device) -> list[torch.Tensor]:
    """Return the states of the global generators that a computation on this device may draw from."""
    states = [torch.get_rng_state()]
    return states if device.type == "cpu" else [*states, torch.cuda.get_rng_state(device)]


def threads(compute: Compute) -> int:
    """Return the intra-op threads of a rank; `group`: as many as the cores that it may use."""
    return len(os.sched_getaffinity(0)) if compute.threads == "group" else compute.threads


def notes(compute: Compute, device: torch.device) -> dict[str, str]:
    """Return notes on the choices, for the journal."""
    said = {"device": name_of(device), "threads": str(threads(compute))}
    said["images"] = "channels last" if channels_last(compute, device) else "channels first"
    said["precision"] = "fp32"
    if device.type == "cuda":
        said["precision"] = "fp32, TF32 off"
    if compute.precision == "bf16":
        said["precision"] = "bf16 autocast, weights and sums of updates fp32"
        if device.type == "cpu" and bf16_unit() == "emulated":
            said["precision"] += "; this processor has no bf16 instructions, fp32 would be faster"
    return said
