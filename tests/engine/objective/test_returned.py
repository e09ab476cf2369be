"""Vectors that take memory where they are written."""

import sys
from pathlib import Path

import pytest
import torch
from hooke.objective.returned import LEAST, Returned, clear, zeros

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere vectors are ordinary ones")
ELEMENTS = 64 << 20
"""256 MB of float32."""


def resident():
    """Return the bytes of this process that are in memory."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def test_a_vector_takes_memory_where_it_is_written():
    before = resident()
    vector = zeros(ELEMENTS)
    assert resident() - before < 8 << 20
    vector[:1024] = 1.0
    vector[ELEMENTS // 2] = 2.0
    assert resident() - before < 16 << 20, "two pages, of two megabytes at most"
    assert float(vector[:2048].sum()) == 1024.0 and float(vector[ELEMENTS // 2 - 1 :][:3].sum()) == 2.0
    vector.fill_(1.0)
    assert resident() - before > 200 << 20
    del vector
    assert resident() - before < 32 << 20


@pytest.mark.parametrize("elements", [0, 1, LEAST - 1, LEAST, LEAST + 7])
def test_a_vector_is_zero_and_can_be_written(elements):
    vector = zeros(elements)
    assert vector.shape == (elements,) and vector.dtype == torch.float32 and not vector.any()
    assert torch.equal(vector.add_(1.0), torch.ones(elements))
    copied = vector.clone()
    assert torch.equal(copied.mul_(2.0), torch.full((elements,), 2.0)), "the copy is an ordinary tensor"


def test_memory_that_is_given_back_is_zero():
    made, before = Returned(), resident()
    vector = made.allocate(ELEMENTS).fill_(1.0)
    clear(made.of(vector))
    assert resident() - before < 32 << 20 and not vector[:: 1 << 16].any()
