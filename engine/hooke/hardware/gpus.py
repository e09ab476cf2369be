"""What NVIDIA devices report of themselves through NVML, the library of their driver; without CUDA.

NVML knows all devices of the host by their ids (UUIDs), also those that `CUDA_VISIBLE_DEVICES` hides from a
process. Source: NVIDIA, NVML API Reference Guide.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

DEVICE_ID = "device id"
"""Note of a rank that names its device: GPU-..., as `nvidia-smi -L` shows it."""
LIBRARY = "libnvidia-ml.so.1"


def device_id(device: Any) -> str:
    """Return the id of a CUDA device that PyTorch uses in this process, GPU-...; empty where it is not told."""
    torch: Any = sys.modules.get("torch")  # which has made the device; what only reads ids needs no PyTorch
    if torch is None or not str(device).startswith("cuda"):
        return ""
    known = str(getattr(torch.cuda.get_device_properties(device), "uuid", ""))
    return f"GPU-{known}" if known and not known.startswith(("GPU-", "MIG-")) else known


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Nvml:
    """The driver's figures of its devices, by id. `library`: what is loaded, for tests; by default LIBRARY.

    Raises OSError, which says why, without a driver, without permission, and for what a device does not report.
    """

    def __init__(self, library: Any = None) -> None:
        self._handles: dict[str, ctypes.c_void_p] = {}
        self._library = ctypes.CDLL(LIBRARY) if library is None else library
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self._check("nvmlInit_v2", self._library.nvmlInit_v2())

    def energy(self, device: str) -> int:
        """Return the millijoules that a device has used since its driver was loaded."""
        value = ctypes.c_ulonglong()
        self._read("nvmlDeviceGetTotalEnergyConsumption", device, value)
        return value.value

    def busy(self, device: str) -> float:
        """Return the share of the latest moment, of up to a second, in which a device computed."""
        value = _Utilization()
        self._read("nvmlDeviceGetUtilizationRates", device, value)
        return float(value.gpu) / 100

    def memory(self, device: str) -> int:
        """Return the bytes of a device's memory in use, by all processes."""
        value = _Memory()
        self._read("nvmlDeviceGetMemoryInfo", device, value)
        return int(value.used)

    def _read(self, function: str, device: str, into: Any) -> None:
        if device not in self._handles:
            found = ctypes.c_void_p()
            name = "nvmlDeviceGetHandleByUUID"
            self._check(name, self._library.nvmlDeviceGetHandleByUUID(device.encode(), ctypes.byref(found)))
            self._handles[device] = found
        self._check(function, getattr(self._library, function)(self._handles[device], ctypes.byref(into)))

    def _check(self, function: str, status: int) -> None:
        if status:
            why = self._library.nvmlErrorString(status) or b"unknown error"
            raise OSError(f"{function}: {why.decode(errors='replace')}")
