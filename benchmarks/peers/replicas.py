"""Peers by torchft: its LocalSGD and its DiLoCo, each worker a replica group of one rank.

torchft is no dependency of the benchmarks: `pip install torchft` brings it. Its coordinator, the lighthouse, is a
thread of rank 0. Exposed communication is the time in torchft's hook after a step of the optimizer: quorum,
all-reduce, commit, and the outer step.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import torch
import torch.distributed as dist
from hooke.trace.phases import Ledger, Phase
from torch import Tensor, nn

from benchmarks.peers.methods import charged, flat, optimizer, sums_of_group
from benchmarks.peers.settings import Settings

PATIENCE = timedelta(seconds=120)
"""Of a quorum or an all-reduce; ranks that share cores start far apart."""
SIOCGIFADDR = 0x8915
"""Of Linux: the address of an interface (netdevice(7))."""


class Replicas:
    """LocalSGD or DiLoCo of torchft over gloo."""

    def __init__(self, model: nn.Module, settings: Settings, ledger: Ledger, folder: Path, rank: int) -> None:
        from torchft import Manager, ProcessGroupGloo  # type: ignore[import-not-found]

        self._model, self._ledger, self._workers = model, ledger, settings.workers
        store = f"file://{folder.resolve()}/store"
        dist.init_process_group("gloo", init_method=store, rank=rank, world_size=settings.workers)
        host = _address()
        own = dist.TCPStore(host, 0, is_master=True, wait_for_workers=False)
        self._lighthouse, address = _lighthouse(folder, rank, settings.workers)
        self._manager = Manager(
            pg=ProcessGroupGloo(timeout=PATIENCE),
            load_state_dict=None,
            state_dict=None,
            min_replica_size=settings.workers,
            use_async_quorum=False,
            timeout=PATIENCE,
            quorum_timeout=PATIENCE,
            rank=0,
            world_size=1,
            store_addr=host,
            store_port=own.port,
            lighthouse_addr=address,
            replica_id=f"replica{rank}",
            hostname=host,
            init_sync=False,  # all begin with the same weights
        )
        self._store = own
        self._optimizer = optimizer(model, settings)
        self._center: Callable[[], Tensor] = self._mean
        self._averaging = self._diloco(settings) if settings.method == "torchft-diloco" else self._local(settings)
        self._averaging.__enter__()

    def _local(self, settings: Settings) -> Any:
        from torchft.local_sgd import LocalSGD  # type: ignore[import-not-found]

        return _charging(LocalSGD, self._ledger)(self._manager, self._model, self._optimizer, settings.period)

    def _diloco(self, settings: Settings) -> Any:
        from torchft.local_sgd import DiLoCo

        outer = torch.optim.SGD(
            self._model.parameters(), settings.outer_lr, momentum=settings.outer_momentum,
            nesterov=settings.outer_momentum > 0,
        )  # fmt: skip
        made = _charging(DiLoCo, self._ledger)(
            self._manager, [self._model], self._optimizer, outer, settings.period, use_bucketization=True
        )
        kept = made._fragments[0].original_parameters
        self._center = lambda: torch.cat([kept[name].reshape(-1) for name, _ in self._model.named_parameters()])
        return made

    def step(self, loss: Callable[[nn.Module], Tensor]) -> float:
        """Take one step; torchft's hook exchanges after every `period`-th."""
        with charged(self._ledger, Phase.COMPUTE):
            self._optimizer.zero_grad()
            found = loss(self._model)
            found.backward()
        self._optimizer.step()
        return found.item()

    def answer(self) -> Tensor:
        """Return DiLoCo's global weights, or the average of all workers' weights."""
        return self._center()

    def _mean(self) -> Tensor:
        mean = flat(self._model)
        dist.all_reduce(mean)
        return mean / self._workers

    def sums(self, words: list[float]) -> list[float]:
        """Return the sums over all ranks."""
        return sums_of_group(words)

    def close(self) -> None:
        """Leave the group; the rank with the lighthouse last."""
        self._averaging.__exit__(None, None, None)
        self._manager.shutdown(wait=False)
        dist.barrier()
        if self._lighthouse is not None:
            self._lighthouse.shutdown()
        dist.destroy_process_group()


def _charging(kind: Any, ledger: Ledger) -> Any:
    """Return a class of torchft whose hook after a step is charged to communication."""

    class Charging(kind):  # type: ignore[misc]
        def _step_post_hook(self, *given: Any) -> None:
            with charged(ledger, Phase.COMMUNICATE):
                super()._step_post_hook(*given)

    return Charging


def _address() -> str:
    """Return the IPv4 address of this host's interface; names of emulated hosts are in no DNS."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "lo").encode()[:15]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking.fileno(), SIOCGIFADDR, struct.pack("256s", interface))
    return socket.inet_ntoa(answer[20:24])


def _lighthouse(folder: Path, rank: int, workers: int) -> tuple[Any, str]:
    """Return the coordinator, on rank 0, and its address, which the others read from the folder."""
    from torchft.coordination import LighthouseServer  # type: ignore[import-not-found]

    told = folder / "lighthouse"
    server = None
    if rank == 0:
        server = LighthouseServer(bind="[::]:0", min_replicas=workers, join_timeout_ms=100, quorum_tick_ms=10)
        (folder / "lighthouse.new").write_text(f"http://{_address()}:{urlsplit(server.address()).port}")
        (folder / "lighthouse.new").rename(told)
    while not told.exists():
        time.sleep(0.01)
    return server, told.read_text()
