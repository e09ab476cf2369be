"""The peers: common ways to train a PyTorch model on several machines.

Each is the loop of its documentation only: model, data order, initial weights, evaluation and clock come from
`training`. Exposed communication is measured where each one waits:

    ddp               from the hand-over of the last bucket, when the last gradient has been computed, until
                      backward returns
    post-local        the same, and averaging
    hierarchical      the same, and averaging
    torchft-...       torchft's hook after a step (`replicas`)
    mpi4py            the blocking call

This module does not postpone annotations, because DDP inspects those of its hook.
"""

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from hooke.trace.phases import Ledger, Phase
from torch import Tensor, nn

from benchmarks.peers.settings import Settings

ALL_IN_ONE = 1024
"""Size of a bucket for all gradients, MB."""


class Method(Protocol):
    """One peer on one rank."""

    def step(self, loss: Callable[[nn.Module], Tensor]) -> float:
        """Take one step: forward, backward, exchange, update; return the loss."""

    def answer(self) -> Tensor:
        """Return the evaluated weights as a flat vector; collective, while the clock stands."""

    def sums(self, words: list[float]) -> list[float]:
        """Return the sums over all ranks; also a barrier."""

    def close(self) -> None:
        """Close all connections."""


@contextmanager
def charged(ledger: Ledger, phase: Phase) -> Iterator[None]:
    """Charge the body to a phase."""
    before = ledger.enter(phase)
    yield
    ledger.enter(before)


def optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Return PyTorch's SGD or AdamW for these settings."""
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(model.parameters(), settings.lr, weight_decay=settings.weight_decay)
    mu = settings.momentum
    return torch.optim.SGD(model.parameters(), settings.lr, momentum=mu, nesterov=mu > 0)


def flat(model: nn.Module) -> Tensor:
    """Return a copy of all parameters as one vector."""
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def sums_of_group(words: list[float]) -> list[float]:
    """Return the sums over all ranks of PyTorch's default group."""
    tensor = torch.tensor(words, dtype=torch.float64)
    dist.all_reduce(tensor)
    return list(tensor.tolist())


class Plain:
    """One worker without communication: a plain PyTorch loop."""

    def __init__(self, model: nn.Module, settings: Settings, ledger: Ledger) -> None:
        if settings.workers != 1:
            raise SystemExit("the plain loop has one worker")
        self._model, self._ledger = model, ledger
        self._optimizer = optimizer(model, settings)

    def step(self, loss: Callable[[nn.Module], Tensor]) -> float:
        """Take one step."""
        with charged(self._ledger, Phase.COMPUTE):
            self._optimizer.zero_grad()
            found = loss(self._model)
            found.backward()
        self._optimizer.step()
        return found.item()

    def answer(self) -> Tensor:
        """Return its weights."""
        return flat(self._model)

    def sums(self, words: list[float]) -> list[float]:
        """Return the words."""
        return words

    def close(self) -> None:
        """Do nothing."""


class Mpi4py:
    """Average the gradients with one blocking all-reduce of one buffer, then step."""

    def __init__(self, model: nn.Module, settings: Settings, ledger: Ledger) -> None:
        from mpi4py import MPI

        self._comm, self._in_place = MPI.COMM_WORLD, MPI.IN_PLACE
        self._model, self._ledger = model, ledger
        self._optimizer = optimizer(model, settings)

    def step(self, loss: Callable[[nn.Module], Tensor]) -> float:
        """Take one step."""
        parameters = list(self._model.parameters())
        with charged(self._ledger, Phase.COMPUTE):
            self._optimizer.zero_grad()
            found = loss(self._model)
            found.backward()
        gradient = torch.cat([p.grad.reshape(-1) for p in parameters if p.grad is not None])
        with charged(self._ledger, Phase.COMMUNICATE):
            self._comm.Allreduce(self._in_place, gradient.numpy())
        gradient /= self._comm.Get_size()
        start = 0
        for p in parameters:
            if p.grad is not None:
                p.grad.copy_(gradient[start : start + p.numel()].view_as(p))
            start += p.numel()
        self._optimizer.step()
        return found.item()

    def answer(self) -> Tensor:
        """Return the weights, which are the same on all ranks."""
        return flat(self._model)

    def sums(self, words: list[float]) -> list[float]:
        """Return the sums over all ranks."""
        return self._comm.allreduce(torch.tensor(words, dtype=torch.float64).numpy()).tolist()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Do nothing: MPI ends with the process."""


class Ddp:
    """DistributedDataParallel over gloo."""

    def __init__(self, model: nn.Module, settings: Settings, ledger: Ledger, folder: Path, rank: int) -> None:
        from torch.nn.parallel import DistributedDataParallel

        self._ledger, self._workers = ledger, settings.workers
        store = f"file://{folder.resolve()}/store"
        dist.init_process_group("gloo", init_method=store, rank=rank, world_size=settings.workers)
        # An explicit size also applies to the first bucket, which PyTorch makes smaller by default.
        sizes = {"bucket_cap_mb": ALL_IN_ONE} if settings.buckets == "one" else {}
        # Running statistics of batch normalisation need not be sent: an evaluation computes its own.
        # Older PyTorch (2.11) has the option under its former name alone.
        options = inspect.signature(DistributedDataParallel.__init__).parameters
        sync = "forward_sync_buffers" if "forward_sync_buffers" in options else "broadcast_buffers"
        self._model = DistributedDataParallel(model, gradient_as_bucket_view=True, **{sync: False}, **sizes)
        self._last_gradient = 0.0
        self._gradients, self._each = 0, settings.accumulation
        self._optimizer: Any = optimizer(self._model, settings)
        state, hook = self._hook(settings)
        self._model.register_comm_hook(state, self._marking(hook))

    def _hook(self, settings: Settings) -> tuple[Any, Callable[..., Any]]:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as hooks
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

        if settings.wire == "powersgd":
            # its defaults, but from the second step on instead of the thousandth: runs are short
            return power.PowerSGDState(None, start_powerSGD_iter=2), power.powerSGD_hook
        return None, hooks.bf16_compress_hook if settings.wire == "bf16" else hooks.allreduce_hook

    def _marking(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Return the hook, extended to record when the last gradients are available; the rest is waiting."""

        def marked(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
            if bucket.is_last():
                self._last_gradient = time.perf_counter()
            return hook(state, bucket)  # type: ignore[no-any-return]

        return marked

    def step(self, loss: Callable[[nn.Module], Tensor]) -> float:
        """Compute a gradient; after the last of a step, exchange and update."""
        first, self._gradients = self._gradients % self._each == 0, self._gradients + 1
        last = self._gradients % self._each == 0
        with charged(self._ledger, Phase.COMPUTE):
            if first:
                self._optimizer.zero_grad()
            with contextlib.nullcontext() if last else self._model.no_sync():
                found = loss(self._model)
                (found / self._each if self._each > 1 else found).backward()
            waited = time.perf_counter() - self._last_gradient
        if last:
            self._ledger.move(waited, Phase.COMPUTE, Phase.COMMUNICATE)
            self._optimizer.step()
        return found.item()

    def answer(self) -> Tensor:
        """Return the weights, which are the same on all ranks."""
        return flat(self._model)

    def sums(self, words: list[float]) -> list[float]:
        """Return the sums over all ranks."""
        return sums_of_group(words)

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()


class PostLocal(Ddp):
    """PyTorch's post-local SGD: DDP for the first `warmup` steps, then local steps, averaged every `period`.

    As in its documentation, with one worker per host: a subgroup is one rank, so that local steps send nothing.
    """

    def _hook(self, settings: Settings) -> tuple[Any, Callable[..., Any]]:
        from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as hooks
        from torch.distributed.optim import PostLocalSGDOptimizer

        averager = _Charged(self._averager(settings), self._ledger)
        self._optimizer = PostLocalSGDOptimizer(optim=self._optimizer, averager=averager)
        alone, _ = dist.new_subgroups(group_size=1)
        state = hooks.PostLocalSGDState(None, alone, settings.warmup, post_local_gradient_allreduce=False)
        return state, hooks.post_localSGD_hook

    def _averager(self, settings: Settings) -> Any:
        from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

        return PeriodicModelAverager(settings.period, settings.warmup)

    def answer(self) -> Tensor:
        """Return the average of all workers' weights."""
        mean = flat(self._model)
        dist.all_reduce(mean)
        return mean / self._workers


class Hierarchical(PostLocal):
    """PyTorch's hierarchical averaging: groups every `period` steps, all workers every `factor` periods."""

    def _averager(self, settings: Settings) -> Any:
        import torch.distributed.algorithms.model_averaging.hierarchical_model_averager as levels

        group = min(settings.group, settings.workers)
        sizes = {settings.period: group, settings.period * settings.factor: settings.workers}
        return levels.HierarchicalModelAverager(sizes, settings.warmup)


class _Charged:
    """An averager whose time is charged to communication (called after each step, averages in every period-th)."""

    def __init__(self, averager: Any, ledger: Ledger) -> None:
        self._averager, self._ledger = averager, ledger

    def average_parameters(self, params: Any) -> None:
        """Average, if it is time to."""
        with charged(self._ledger, Phase.COMMUNICATE):
            self._averager.average_parameters(params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._averager, name)


def make(settings: Settings, model: nn.Module, ledger: Ledger, folder: Path, rank: int) -> Method:
    """Return the method named in the settings."""
    if settings.method == "ddp":
        return Ddp(model, settings, ledger, folder, rank)
    if settings.method == "post-local":
        return PostLocal(model, settings, ledger, folder, rank)
    if settings.method == "hierarchical":
        return Hierarchical(model, settings, ledger, folder, rank)
    if settings.method in ("torchft-local", "torchft-diloco"):
        from benchmarks.peers.replicas import Replicas

        return Replicas(model, settings, ledger, folder, rank)
    if settings.method == "mpi4py":
        return Mpi4py(model, settings, ledger)
    return Plain(model, settings, ledger)
