"""Vectors to the host and back, as exchanges copy them, in GB/s; against plain copies of page-locked memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from hooke.comm.wrappers.cuda import Cuda

SIZES = (1_000_000, 10_000_000)
SECONDS = 0.3


def rate(copy: Callable[[], object], nbytes: int) -> float:
    """Return GB/s."""
    copy()
    torch.cuda.synchronize()
    began, times = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        copy()
        times += 1
    torch.cuda.synchronize()
    return nbytes * times / (time.perf_counter() - began) / 1e9


def measure(device: str) -> Iterator[dict[str, Any]]:
    if device == "cpu":
        yield {"skipped": "vectors in main memory are not copied"}
        return
    for size in SIZES:
        x, copies = torch.ones(size, device=device), Cuda()
        copies.keep(x, lambda _: None)
        host, pinned, pageable = copies.out(x), torch.empty(size, pin_memory=True), torch.empty(size)
        ways: dict[str, Callable[[], object]] = {
            "out": partial(copies.out, x),
            "back": partial(copies.back, host, x),
            "plain pinned, to the host": partial(plain, x, pinned),
            "plain pinned, to the device": partial(plain, pinned, x),
            "plain pageable, to the host": partial(pageable.copy_, x),
        }
        for name, copy in ways.items():
            yield {"elements": size, "way": name, "gb_per_second": rate(copy, 4 * size)}


def plain(source: torch.Tensor, to: torch.Tensor) -> None:
    to.copy_(source, non_blocking=True)
    torch.cuda.synchronize()
