"""A network from sparse bags of features over one hidden layer to very many labels (implements `Objective`).

    h = relu(b1 + sum_f x_f W1[f]),    z_a = W2[a] . h + b2[a]    for the labels a of a step,
    loss = ln sum_a exp(z_a) - mean over the item's labels of z    (cross-entropy, target uniform over them)

W1 is (features, hidden), W2 (labels, hidden): a step touches the rows of its features and of its active set
(`hooke.objective.active_labels`) and tells which. Evaluation is exact: over all labels, in blocks. The network and
its loss are those of SLIDE (arXiv 1903.03129). Gradients are written out, because automatic differentiation would
make dense ones.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from hooke.catalogue.workload import ALONE, Place, Score
from hooke.comm.base import Vector
from hooke.comm.touched import Rows, Touched
from hooke.errors import CheckpointError
from hooke.objective import device as devices
from hooke.objective.active_labels import Active, Kept, Layer
from hooke.objective.bags import BagPart, Bags, Subset, divided
from hooke.objective.returned import Returned, clear, zeros
from hooke.objective.wide_input import gradient_rows, hidden_units, layout_of
from hooke.objective.wide_loss import all_outputs, hits, losses, softmax
from hooke.objective.wide_metrics import Hashed, WideMetrics
from hooke.spec.further import FurtherMetric
from hooke.spec.specification import Part

NEGATIVES = 4
"""Purpose of a random stream, part of its seed; see `hooke.objective.flat`."""
RETURNED = 16
"""Gradients after which memory is given back: a page that is written again costs about as much as a row."""
SCORED_AT_ONCE = 1 << 24
"""Outputs that an evaluation holds at once."""


class WideObjective:
    """The network on two parts of a data set: `train` is divided into training and validation part.

    Or `validation` is given, and all of `train` is trained with. `layer` chooses the labels of a step, and
    `validation_items` limits the validation part (0: all of it). W1 is drawn from N(0, 2) and W2 from
    N(0, 1 / hidden), so that for an input of norm 1 hidden units and outputs have a mean square of about 1; biases
    start at 0.
    """

    reads_ahead = False
    on_host: ClassVar[bool] = False
    """Whether it computes on the CPU whatever the place says, because its kernels do."""
    apart = False
    """Whether gradients stay in their rows (`Rows.values`), and in no vector; see `Rank.read_rows`."""

    def __init__(
        self,
        train: BagPart,
        test: BagPart,
        hidden: int,
        layer: Layer,
        *,
        validation_items: int = 0,
        place: Place = ALONE,
        narrow: bool = False,
        validation: BagPart | None = None,
    ) -> None:
        """`narrow`: weights are bfloat16, half the memory, and rows are widened where they are used, by the CPU.

        Then the memory of the gradient is given back every RETURNED gradients, too.
        """
        torch.set_num_threads(devices.threads(place.compute))
        here = narrow or self.on_host
        self.device = torch.device("cpu") if here else devices.choose(place.compute, place.rank)
        self.notes = {"device": devices.name_of(self.device), "threads": str(devices.threads(place.compute))}
        own = place.compute.precision
        self._low, self._scores_low = own == "bf16", (place.scoring or own) == "bf16"
        self.notes["precision"] = "bf16 products, weights and sums fp32" if self._low else "fp32"
        train, test = self._labelled(train, "training"), self._labelled(test, "test")
        kept, held = divided(train, validation and self._labelled(validation, "validation"))
        if validation_items:
            held = Subset(held.source, held.items[:validation_items])
        self._parts: dict[str, BagPart] = {"validation": held, "test": test}
        self._train = kept
        self._metrics = WideMetrics(train)
        self.train_size, self.validation_size, self.test_size = len(kept), len(held), len(test)
        shapes = {
            "hidden.weight": (train.feature_count, hidden),
            "hidden.bias": (hidden,),
            "output.weight": (train.label_count, hidden),
            "output.bias": (train.label_count,),
        }
        self.layout = layout_of(shapes)
        self._narrow = narrow
        self._returned = Returned() if narrow else None
        if narrow:
            self.notes["weights"] = "bf16, rounded at random by each step"
        self._layer: Kept = layer
        self._chooser, self._place, self._hidden = layer, place, hidden
        self._computed = 0
        self.touched: Touched | None = None
        self._written: int | None = None
        """Version of the bound gradient after the latest one was written: it has changed if this differs."""
        self.bind(self.allocate(), self.allocate())

    def _labelled(self, part: BagPart, name: str) -> BagPart:
        """Return the items that have labels, of which none is copied."""
        found = np.flatnonzero(part.label_counts)
        if len(found) == len(part):
            return part
        self.notes[f"{name} items without labels"] = f"{len(part) - len(found):,} of {len(part):,}, left out"
        return Subset(part, found)

    @property
    def layer(self) -> Kept:
        """What chooses the labels of a step."""
        return self._layer

    @property
    def rows(self) -> Tensor:
        """The bound rows of the output layer, (labels, hidden)."""
        return self._weights[2]

    @property
    def independent(self) -> bool:
        """Whether gradients use this rank's state only, and so may be computed beside those of others."""
        return self.device.type == "cpu"

    def allocate(self) -> Tensor:
        """Return a new zero vector of all parameters."""
        elements = self.layout[-1].stop
        if self._returned is not None:
            return self._returned.allocate(elements)
        return zeros(elements) if self.device.type == "cpu" else torch.zeros(elements, device=self.device)

    def initial(self, seed: int) -> Tensor:
        """Return the initial weights, a function of the seed only (drawn on the CPU); narrow ones rounded."""
        generator = torch.Generator().manual_seed(seed)
        vector = self.allocate() if self.device.type == "cpu" else torch.zeros(self.layout[-1].stop)
        w1, _, w2, _ = self._cut(vector)
        w1.normal_(0, 2**0.5, generator=generator)
        w2.normal_(0, self._hidden**-0.5, generator=generator)
        return vector.bfloat16() if self._narrow else vector.to(self.device)

    def _cut(self, vector: Vector) -> list[Tensor]:
        tensor: Any = vector
        return [tensor[part.start : part.stop].view(part.shape) for part in self.layout]

    def bind(self, weights: Vector, gradient: Vector) -> None:
        """Use these vectors, each of shape (n,), for the weights and the gradient from now on."""
        self._weights = self._cut(weights)
        if getattr(self, "_gradient", None) is not gradient:
            self._gradient: Any = gradient
            self._gradients = self._cut(gradient)
            self._room = self._returned.of(gradient) if self._returned else None
            self.touched, self._written = None, None

    def pick(self, indices: Any) -> Bags:
        """Return the batch of these training indices."""
        return self._train.take(np.asarray(indices, dtype=np.int64))

    def prefetch(self, indices: Any) -> None:
        """Do nothing: items are in memory, or mapped."""

    def close(self) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Wait until the device has completed all work; returns at once on a CPU."""
        devices.synchronize(self.device)

    def rebuild_bytes(self) -> int:
        """Return the bytes that building hash tables before the next gradient moves; 0: it is not time."""
        return self._layer.build_bytes(self.rows) if isinstance(self._layer, Hashed) else 0

    def rebuild(self) -> None:
        """Build them now, if it is time: the next gradient then does not."""
        if isinstance(self._layer, Hashed):
            self._layer.prepare(self.rows)

    def gradient(self, batch: Bags) -> float:
        """Write the gradient of the mean loss of a batch to the bound vector; return the loss."""
        _, _, w2, b2 = self._weights
        with torch.no_grad(), self._lowered(self._low):
            hidden = self.hidden_units(batch)
            chosen = self._active(batch, hidden, w2)
            ids = None if chosen.ids is None else chosen.ids.to(self.device, non_blocking=True)
            rows = (w2 if ids is None else w2.index_select(0, ids)).float()
            bias = (b2 if ids is None else b2.index_select(0, ids)).float()
            outputs = torch.mm(hidden, rows.T).float().add_(bias)
            loss = softmax(outputs, batch, chosen)
            back = torch.mm(outputs, rows).float().mul_(hidden > 0)
            self.write(batch, back, ids, torch.mm(outputs.T, hidden).float(), outputs.sum(0))
        return loss.item()  # last: a device has all work by now

    def hidden_units(self, batch: Bags) -> Tensor:
        """Return the hidden units of a batch at the bound weights, (b, hidden)."""
        return hidden_units(batch, *self._weights[:2])

    def _active(self, batch: Bags, hidden: Tensor, weights: Tensor) -> Active:
        own = np.unique(batch.labels.ids).astype(np.int64)
        place = self._place
        words = [place.seed, place.rank, NEGATIVES, self._computed, *([place.thread] if place.thread else [])]
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
        chosen = self._chooser.choose(own, hidden, weights, random)
        self._metrics.note(len(weights) if chosen.ids is None else len(chosen.ids), chosen.retrieved)
        return chosen

    def _clear(self, whole: bool) -> None:
        """Set the bound gradient to zero: all of it, unless it is known what it holds.

        `whole`: all rows of the output layer are written now, so that what they hold need not be cleared.
        """
        known = self.touched is not None and self._gradient._version == self._written
        if self._room is not None and (not known or (self._computed - 1) % RETURNED == 0):
            clear(self._room)
        elif known and self.touched is not None:
            stale = (rows for rows in self.touched if not (whole and rows.ids is None))
            Touched(tuple(stale)).clear(self._gradient)
        else:
            (self._gradients[0] if whole else self._gradient).zero_()

    def write(self, batch: Bags, back: Tensor, ids: Tensor | None, rows: Tensor, biases: Tensor) -> None:
        """Write the gradient of a batch, and note which rows it has.

        `back` (b, hidden) is that of the hidden units; `rows` (a, hidden) and `biases` (a,) are those of the rows
        `ids` of the output layer, ascending, or of all.
        """
        self._computed += 1
        features, values = gradient_rows(batch, back)
        if self.apart:
            held = ((features, values), (None, back.sum(0)[:, None]), (ids, rows), (ids, biases[:, None]))
            self.touched = Touched(tuple(Rows(part, *own) for part, own in zip(self.layout, held, strict=True)))
            return
        self._clear(whole=ids is None)
        g1, gb1, g2, gb2 = self._gradients
        g1.index_copy_(0, features, values)
        torch.sum(back, 0, out=gb1)
        if ids is None:
            g2.copy_(rows)
            gb2.copy_(biases)
        else:
            g2.index_copy_(0, ids, rows)
            gb2.index_copy_(0, ids, biases)
        self.touched = Touched(tuple(map(Rows, self.layout, (features, None, ids, ids))))
        self._written = self._gradient._version

    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        """Score `weights` on items start..stop - 1 of a part over all labels: cross-entropy, precision at 1.

        The recall of hash tables is measured on the validation part, by this rank's tables as they are.
        """
        w1, b1, w2, b2 = self._cut(weights)
        labels = w2.shape[0]
        loss, right, count = 0.0, 0, 0
        further = self._metrics.scoring(self._layer, recall=part == "validation")
        size = max(1, min(256, SCORED_AT_ONCE // labels))
        with torch.no_grad(), self._lowered(self._scores_low):
            for first in range(start, stop, size):
                batch = self._parts[part].take(np.arange(first, min(first + size, stop), dtype=np.int64))
                hidden = hidden_units(batch, w1, b1)
                outputs = all_outputs(hidden, w2).add_(b2)
                best = outputs.argmax(1)
                loss += losses(outputs, batch).double().sum().item()
                right += hits(best.cpu().numpy(), batch)
                further.add(outputs, hidden, batch)
                count += len(batch)
        return Score(loss, right, count, further.sums())

    @property
    def further_metrics(self) -> tuple[FurtherMetric, ...]:
        """Precision at 3 and 5, weighted precisions, active sets, and the tables of a layer that has any."""
        return self._metrics.declared(self._layer)

    def training_sums(self) -> tuple[float, ...]:
        """Return figures of active sets and tables."""
        return self._metrics.training_sums(self._layer)

    def further(self, score: Score, training: tuple[float, ...] = ()) -> dict[str, float]:
        """Return the further metrics from the sums over all ranks."""
        return self._metrics.values(score, training)

    def local_state(self) -> dict[str, Any]:
        """Return the number of gradients, and the state of the output layer."""
        return {"drawn": np.array([self._computed], dtype=np.int64)} | self._layer.state()

    def restore_local(self, state: dict[str, Any]) -> None:
        """Continue from the result of `local_state`. Raises CheckpointError for the state of another layer."""
        if set(state) != set(self.local_state()):
            raise CheckpointError(
                f"the checkpoint's local state {sorted(state)} is not that of this output layer, "
                f"{sorted(self.local_state())}: it was written with another one"
            )
        (self._computed,) = (int(n) for n in state["drawn"])
        self._layer.restore({name: value for name, value in state.items() if name != "drawn"})

    def _lowered(self, low: bool) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16) if low else nullcontext()
