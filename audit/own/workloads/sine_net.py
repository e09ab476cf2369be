"""Sine network, a small regression for the audit.

Data: sines of the item's number, computed by a formula. Labels are the numbers of the items, so that the loss
knows the items of a batch. Model: 4 - 6 - 3, sin in between, initial weights from a formula. Loss: half the
squared distance to the item's value, mean over a batch.

If `notes` names a folder, every gradient appends the batch's loss, its items and the weights to a file for each
process and thread.
"""

import os
import threading
import time
from pathlib import Path

import torch
from torch import Tensor, nn

target = 0.5
ITEMS, TESTS = 240, 60
mine = threading.local()


def table() -> tuple[Tensor, Tensor]:
    """Return inputs (n, 4) and values (n, 3) of all items, training first, as float32."""
    k = torch.arange(1, ITEMS + TESTS + 1, dtype=torch.float64)[:, None]
    inputs = torch.sin(0.37 * k * torch.arange(2, 6, dtype=torch.float64)).float()
    waves = torch.cos(0.11 * k * torch.arange(1, 4, dtype=torch.float64))
    values = waves * inputs[:, :1].double() + 0.5 * inputs[:, 1:2].double()
    return inputs, values.float()


INPUTS, VALUES = table()


class SineNet(nn.Module):
    """out = W2 sin(W1 x + b1) + b2; a training batch sleeps `step_seconds`, an evaluated one `score_seconds`."""

    def __init__(self, step_seconds: float, score_seconds: float, notes: str, one_output: int) -> None:
        super().__init__()
        self.notes, self.one_output = notes, one_output
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)
        self.seconds = {True: step_seconds, False: score_seconds}
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                steps = torch.arange(parameter.numel(), dtype=torch.float64)
                parameter.copy_((0.6 * torch.cos(1.0 + number + 2.1 * steps)).view(parameter.shape))

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for a batch, (b, 3)."""
        time.sleep(self.seconds[torch.is_grad_enabled()])
        if torch.is_grad_enabled():
            mine.weights, mine.notes = torch.cat([p.detach().flatten() for p in self.parameters()]), self.notes
            mine.one_output = self.one_output
        return self.second(torch.sin(self.first(x)))


def model(
    step_seconds: float = 0.0, score_seconds: float = 0.0, notes: str = "", one_output: int = 0
) -> nn.Module:
    """Return the network.

    `one_output` = k > 0: the loss of item n in training is that of the last output if k divides n, else that of
    output n mod 2, alone.
    """
    return SineNet(step_seconds, score_seconds, notes, one_output)


def data() -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return (inputs, numbers of the items) for training and for testing."""
    numbers = torch.arange(ITEMS + TESTS)
    return (INPUTS[:ITEMS], numbers[:ITEMS]), (INPUTS[ITEMS:], numbers[ITEMS:])


def values_of(numbers: Tensor) -> Tensor:
    """Return the values of items, on the device of their numbers."""
    return VALUES[numbers.cpu()].to(numbers.device)


def loss(output: Tensor, numbers: Tensor) -> Tensor:
    """Return half the squared distance, mean over the batch."""
    distance = (output - values_of(numbers)).square()
    if torch.is_grad_enabled() and mine.one_output:
        own = torch.where(numbers % mine.one_output == 0, 2, numbers % 2)
        distance = distance.gather(1, own[:, None])
    found = 0.5 * distance.sum(1).mean()
    if torch.is_grad_enabled() and mine.notes:
        note(float(found), numbers)
    return found


def score(output: Tensor, numbers: Tensor) -> float:
    """Return the share of items whose output is closer than 1."""
    return float(((output - values_of(numbers)).square().sum(1) < 1).double().mean())


def note(found: float, numbers: Tensor) -> None:
    """Append loss, items and weights of this gradient; float64."""
    batch = torch.cat([numbers.double(), mine.weights.double()]).cpu()
    row = torch.cat([torch.tensor([found], dtype=torch.float64), batch])
    name = f"{os.getpid()}-{threading.get_native_id()}.f64"
    with Path(mine.notes, name).open("ab") as file:
        file.write(row.numpy().tobytes())
