"""Gradients as CUDA graphs: recorded once, then begun by one call.

The host needs about 10 us to begin an operation on a device. The gradient of a small network consists of some
hundred that take 2 to 5 us each, so that the device waits for the host. A graph of them, which reads and writes
the same memory whenever it is launched, is begun at once. It computes what was recorded, with the same bits.

Recorded is what runs on the device. A model whose Python code does something else in every step, such as drawing
from a generator of its own or writing notes, must not be recorded: users' models are not, nor those with dropout.
`HOOKE_CUDA_GRAPHS=0` turns it off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

WARM = 3
"""Computations before the recording, in which libraries choose algorithms and load kernels."""
MOST = 24
"""Recordings that are kept: of pairs of vectors that a method binds, and of sizes of batches."""


def wanted() -> bool:
    """Return whether gradients may be recorded at all."""
    return os.environ.get("HOOKE_CUDA_GRAPHS", "1") != "0"


class Replayed:
    """Begins to compute gradients; returns the loss and what else is told, which the next one overwrites.

    `compute` begins one operation after the other for a batch, and returns a tensor on the device; `kept` are
    tensors that it changes as it goes along, such as running statistics, which a recording leaves as they are.
    """

    def __init__(self, compute: Callable[[Any], Tensor], kept: Iterable[Tensor]) -> None:
        self._compute, self._kept = compute, list(kept)
        self._recorded: dict[tuple[int, ...], tuple[torch.cuda.CUDAGraph, Tensor, Any]] = {}
        """The graph, its result, and the batch whose memory it reads."""
        self._met: set[tuple[int, ...]] = set()
        self._pool: Any = None
        self.refused = ""
        """Why nothing is recorded any more; empty: recordings are used."""

    def __call__(self, batch: Any, *bound: Tensor) -> Tensor:
        """Compute the gradient of a batch; `bound`: the vectors that are read and written.

        A loader that shows batches in the same memory returns the same object. What comes a second time is
        recorded: it costs as much as some dozen gradients.
        """
        key = self._key(batch, bound)
        found = self._recorded.get(key)
        if found is None:
            if key not in self._met or self.refused or len(self._recorded) >= MOST:
                self._met.add(key)
                return self._compute(batch)
            found = self._record(batch)
            if found is None:
                return self._compute(batch)
            self._recorded[key] = found
        found[0].replay()
        return found[1]

    def warm(self, batch: Any, *bound: Tensor) -> None:
        """Record the work of a batch, and do it once: the first launch takes longer. Leaves `kept` as it is."""
        before = [each.clone() for each in self._kept]
        self._met.add(self._key(batch, bound))
        self(batch, *bound)
        self._restore(before)

    @staticmethod
    def _key(batch: Any, bound: tuple[Tensor, ...]) -> tuple[int, ...]:
        return (id(batch), *(each.data_ptr() for each in bound))

    def _restore(self, before: list[Tensor]) -> None:
        for each, value in zip(self._kept, before, strict=True):
            each.copy_(value)

    def _record(self, batch: Any) -> tuple[torch.cuda.CUDAGraph, Tensor, Any] | None:
        """Record the work of a batch; None, and `refused` says why, if PyTorch cannot."""
        before = [each.clone() for each in self._kept]
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(WARM):
                self._compute(batch)
        here.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=aside, capture_error_mode="thread_local"):
                told = self._compute(batch)
        except RuntimeError as error:
            self.refused = str(error).splitlines()[0]
            with suppress(RuntimeError):
                torch.cuda.synchronize()
            return None
        finally:
            self._restore(before)
        self._pool = graph.pool()
        return graph, told, batch
