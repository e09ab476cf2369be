"""A PyTorch model as functions of one flat float32 vector: the compute path of the engine.

All parameters are views of one weight vector, and gradients are written to views of one gradient vector, so that
vector arithmetic and messages are single operations on contiguous memory.

Local to a worker, and never exchanged: buffers (running statistics of batch normalisation), momentum, and random
generators. The random numbers of a gradient (dropout, augmentation) are a function of (seed, rank, batch number);
the global generator is not used, because ranks that are threads of one process share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from hooke.catalogue.workload import ALONE, Place, Score
from hooke.comm.base import Slice, Vector
from hooke.comm.touched import Touched
from hooke.errors import CheckpointError, DataInvalid
from hooke.objective import device as devices
from hooke.objective.given import check_own
from hooke.objective.loader import Batch, Loader
from hooke.objective.models.layers import Dropout, kaiming, localise
from hooke.objective.parameters import layout_of, lowered
from hooke.objective.replayed import Replayed, wanted
from hooke.objective.samples import Source, split_off
from hooke.objective.scorer import Scorer, as_float
from hooke.objective.task import CLASSES, Task
from hooke.spec.further import FurtherMetric
from hooke.spec.specification import Part

CONSTRUCTION = threading.Lock()
"""Constructors draw from the global generator; only one at a time may set and restore it."""
AUGMENTATION, DROPOUT = 2, 3
"""Purpose of a random stream, part of its seed; `batches` uses none, virtual time uses 1."""


class FlatObjective:
    """A model bound to the parts of a data set (implements `Objective`).

    `make` returns a new model. `initialise(model, generator)` draws its weights in place. By default, weights with
    two or more dimensions are drawn from Kaiming's uniform distribution over the fan-in for `nonlinearity`,
    weights of normalisations are one, biases zero; `"own"` keeps the weights that the constructor draws from a
    seeded generator. `place` sets device, precision and threads; `notes` describes the result. Without a
    `validation` part one is split off `train` (see `hooke.objective.parts`). Raises DataInvalid if `train` is too
    small. The parts are attributes. On a device gradients may be recorded (see `hooke.objective.replayed`).
    """

    touched: Touched | None = None
    """Every weight has a gradient."""
    total: float | None = None
    """The sum of the elements of the latest gradient, where it was recorded; None: not known."""
    further_metrics: tuple[FurtherMetric, ...] = ()

    def __init__(
        self,
        make: Callable[[], nn.Module],
        train: Source,
        test: Source,
        nonlinearity: Literal["relu", "linear"] = "relu",
        *,
        validation: Source | None = None,
        task: Task = CLASSES,
        initialise: Callable[[nn.Module, torch.Generator], None] | Literal["own"] | None = None,
        place: Place = ALONE,
    ) -> None:
        compute, rank = place.compute, place.rank
        torch.set_num_threads(devices.threads(compute))  # of this thread; sums on several are not reproducible
        self.device = devices.choose(compute, rank)
        self.notes = devices.notes(compute, self.device)
        if validation is None:
            self.notes["validation part"] = f"split off {len(train):,} training items"
            train, validation = split_off(train)
        self.train_size, self.validation_size, self.test_size = len(train), len(validation), len(test)
        self.train, self.validation, self.test, self._task = train, validation, test, task
        self.make, self._place = make, place
        self._initialise = initialise or kaiming(nonlinearity)
        self._lowers, scores = compute.precision == "bf16", (place.scoring or compute.precision) == "bf16"
        self.model = self._constructed(0).to(self.device)
        self._parameters = list(self.model.parameters())
        self._dropouts = [m for m in self.model.modules() if isinstance(m, Dropout)]
        self.layout = layout_of(self.model)
        self._size = self.layout[-1].stop
        self._low = torch.empty(self._size, dtype=torch.bfloat16, device=self.device) if self._lowers else None
        self._full = self._bind_low()
        seen, shown = (torch.bfloat16 if low else torch.float32 for low in (self._lowers, scores))
        last = devices.channels_last(compute, self.device)
        self._loader = Loader(train, self.device, seen, last, deferred=True)
        self.reads_ahead = self._loader.worthwhile
        plain, *held = (Loader(part, self.device, shown, last) for part in (train, validation, test))
        scored: dict[Part, Loader] = {"validation": held[0], "test": held[1]}
        self._scorer = Scorer(self.model, task, (len(train), plain), scored, lambda: self._autocast(scores))
        self._picked, self._computed, self._trusted = 0, 0, False
        fixed = task.repeats and self.device.type == "cuda" and not self._dropouts and wanted()
        self._replayed = Replayed(self._queue_with_total, self.model.buffers()) if fixed else None
        self._gradient: Vector | None = None
        self.bind(self.allocate(), self.allocate())

    def _constructed(self, seed: int) -> nn.Module:
        with CONSTRUCTION, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = localise(self.make())
            check_own(model)
            return model

    @property
    def independent(self) -> bool:
        """Whether gradients use this rank's model only: after the first, which has tested the generators."""
        return self._trusted and self._task.independent and self.device.type == "cpu"

    @property
    def scores_apart(self) -> bool:
        """Whether ranks that are threads of one process may score at once: they share no state, read no files."""
        parts = (self.train, self.validation, self.test)
        return self.independent and self._task.scores_apart and not any(part.slow for part in parts)

    def allocate(self) -> Tensor:
        """Return a new zero vector of all parameters; PyTorch aligns CPU memory to 64 bytes."""
        return torch.zeros(self._size, dtype=torch.float32, device=self.device)

    def views(self, vector: Vector) -> dict[str, Tensor]:
        """Return the parameters inside a vector, by name, in the model's shapes: a `state_dict`, not a copy."""
        return self._cut(self._checked(vector))

    def _cut(self, flat: Tensor) -> dict[str, Tensor]:
        return {part.name: flat[part.start : part.stop].view(part.shape) for part in self.layout}

    def initial(self, seed: int) -> Tensor:
        """Return the initial weights, shape (n,), a function of the seed only (drawn on the CPU).

        Raises DataInvalid if the function that makes models returns parts of one that is in use.
        """
        model = self._constructed(seed)
        if not isinstance(self._initialise, str):
            with torch.no_grad():
                self._initialise(model, torch.Generator().manual_seed(seed))
        vector = self.allocate()
        for view, parameter in zip(self.views(vector).values(), model.parameters(), strict=True):
            view.copy_(parameter.detach())
        return vector

    def _bind_low(self) -> list[tuple[nn.Parameter, Slice]]:
        """Let the parameters that autocast would cast read the lowered copy; return the others."""
        pairs = list(zip(self._parameters, self.layout, strict=True))
        if self._low is None:
            return pairs
        low_names, low = lowered(self.model), self._cut(self._low)
        for parameter, part in pairs:
            if part.name in low_names:
                parameter.data = low[part.name]
        return [(parameter, part) for parameter, part in pairs if part.name not in low_names]

    def bind(self, weights: Vector, gradient: Vector) -> None:
        """Use these vectors, each of shape (n,), for the weights and the gradient from now on."""
        self._weights = self._checked(weights)
        for parameter, part in self._full:
            parameter.data = self._weights[part.start : part.stop].view(part.shape)
        if gradient is not self._gradient:  # look-ahead methods bind twice in a step, with the same gradient
            self._gradient = self._checked(gradient)
            self._views = list(self._cut(self._gradient).values())

    def pick(self, indices: Any) -> Batch:
        """Return the batch of these training indices (array or sequence), valid until the next `pick`."""
        batch = self._loader.load(indices, self._augmentation())
        self._picked += 1
        return batch

    def prefetch(self, indices: Any) -> None:
        """Begin to read the batch of the next `pick` in another thread."""
        self._loader.prefetch(indices, self._augmentation())

    def close(self) -> None:
        """End the thread that reads ahead, where there is one."""
        self._loader.close()

    def _augmentation(self) -> np.random.Generator | None:
        return self._stream(AUGMENTATION, self._picked) if self.train.augments else None

    def _stream(self, purpose: int, number: int) -> np.random.Generator:
        place = self._place
        words = [place.seed, place.rank, purpose, number, *([place.thread] if place.thread else [])]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def gradient(self, batch: Batch) -> float:
        """Compute forward and backward at the bound weights, fill the bound gradient, return the mean loss.

        Raises DataInvalid if the model draws from PyTorch's global generator.
        """
        if self._trusted:
            return self._computed_gradient(batch)
        with CONSTRUCTION:  # in another run of the process a constructor may draw from the generator meanwhile
            before = devices.global_draws(self.device)
            loss = self._computed_gradient(batch)
            self._distrust(before)
        return loss

    def _computed_gradient(self, batch: Batch) -> float:
        if self._dropouts:
            drawn = int(self._stream(DROPOUT, self._computed).integers(2**62))
            for position, dropout in enumerate(self._dropouts):
                dropout.reseed(drawn + position)
        self._computed += 1
        if self._replayed is None:
            return self._queue(batch).item()
        told = self._replayed(
            batch, self._weights, cast("Tensor", self._gradient)
        ).tolist()  # waits for the device
        loss, self.total = float(told[0]), float(told[1])
        return loss

    def _queue_with_total(self, batch: Batch) -> Tensor:
        """Begin to compute the gradient; return the loss and the sum of the elements."""
        loss = self._queue(batch)
        return torch.stack((loss, cast("Tensor", self._gradient).sum()))

    def _queue(self, batch: Batch) -> Tensor:
        """Begin to compute the gradient; return the loss."""
        if batch.begin is not None:
            batch.begin()
        if self._low is not None:
            self._low.copy_(self._weights)  # one pass, instead of a cast per layer and direction
        with self._autocast(self._lowers):
            output = self.model(batch.inputs)
        loss = self._task.loss(as_float(output), batch.labels)
        found = torch.autograd.grad(loss, self._parameters, allow_unused=True, materialize_grads=True)
        torch._foreach_copy_(self._views, found)
        return loss.detach()

    def warm(self, items: int) -> None:
        """Record the gradient of so many items, if it is to be: else the first step of a run would wait for it."""
        if self._replayed is None:
            return
        g, x, at = cast("Tensor", self._gradient), self._weights, np.arange(items) % self.train_size
        self._replayed.warm(self._loader.load(at, self._augmentation()), x, g)  # the batch as `pick` loads it
        float(g.copy_(x).sub_(x).mul_(0.5).add_(x, alpha=0.5).sum())  # what steps are made of
        g.zero_()

    def _distrust(self, before: list[Tensor]) -> None:
        if not all(map(torch.equal, before, devices.global_draws(self.device))):
            raise DataInvalid(
                "the model or its loss draws from PyTorch's global generator, which ranks may share: "
                "use nn.Dropout, which draws from the worker's own, instead of functional.dropout or torch.rand"
            )
        self._trusted = True

    def training_sums(self) -> tuple[float, ...]:
        """Return no figures: it has no further metrics."""
        return ()

    def further(self, score: Score, training: tuple[float, ...] = ()) -> dict[str, float]:
        """Return no further metrics."""
        del score, training
        return {}

    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        """Score `weights`, shape (n,), on items start..stop of a part; see `hooke.objective.scorer`."""
        for parameter, view in zip(self._scorer.parameters, self.views(weights).values(), strict=True):
            parameter.data = view
        return self._scorer.score(part, start, stop)

    def local_state(self) -> dict[str, Any]:
        """Return the state that outlives a step besides the vectors, as arrays: buffers and generator states."""
        buffers = {f"buffer.{name}": b.detach().cpu().numpy().copy() for name, b in self.model.named_buffers()}
        return {"drawn": np.array([self._picked, self._computed], dtype=np.int64)} | buffers

    def restore_local(self, state: dict[str, Any]) -> None:
        """Continue from the result of `local_state`. Raises CheckpointError for the state of another model."""
        own = self.local_state()
        if {k: v.shape for k, v in own.items()} != {k: np.shape(v) for k, v in state.items()}:
            raise CheckpointError(
                f"the checkpoint's local state {sorted(state)} is not that of this model, {sorted(own)}: "
                "it was written with another workload, or another version of it"
            )
        self._picked, self._computed = (int(n) for n in state["drawn"])
        for name, buffer in self.model.named_buffers():
            buffer.copy_(torch.from_numpy(np.asarray(state[f"buffer.{name}"])))

    def synchronize(self) -> None:
        """Wait until the device has completed all work; returns at once on a CPU."""
        devices.synchronize(self.device)

    def _autocast(self, lowers: bool) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16) if lowers else nullcontext()

    def _checked(self, vector: Vector) -> Tensor:
        if not isinstance(vector, Tensor):
            raise TypeError(f"a vector of this objective is a torch.Tensor, not {type(vector).__name__}")
        if vector.shape != (self._size,) or vector.dtype != torch.float32 or not vector.is_contiguous():
            raise ValueError(
                f"a vector of this objective is contiguous float32 of shape ({self._size},), "
                f"not {vector.dtype} of shape {tuple(vector.shape)}"
            )
        return vector
