"""Fragments of a vector: which elements each has, and when it is sent."""

import math

import pytest
from hooke.algorithms.streaming_diloco import StreamingDiloco
from hooke.catalogue.claims import LENET
from hooke.methods.fragments import due, fragments

from tests.engine.contract.objective import Quadratic, Quadratics

LAYERS = {"lenet": tuple(map(math.prod, LENET)), "one layer": (63,), "equal layers": (10,) * 12}


def layout_of(layers):
    return Quadratic.layout_of(Quadratics(layers=layers))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
def test_every_element_is_in_one_fragment_and_no_layer_is_cut(layers, count):
    layout = layout_of(layers)
    parts = fragments(layout, count)
    assert len(parts) == count
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(layout[-1].stop))
    borders = {0, *(layer.stop for layer in layout)}
    assert {end for part in parts for end in (part.start, part.stop)} <= borders
    assert max(part.stop - part.start for part in parts) <= sum(layers) / count + max(layers)


def test_fragments_of_equal_layers_are_equal():
    assert {part.stop - part.start for part in fragments(layout_of(LAYERS["equal layers"]), 4)} == {30}


@pytest.mark.parametrize("period", [1, 3, 10])
@pytest.mark.parametrize("count", [1, 3, 4, 12])
def test_every_fragment_is_sent_once_per_period_and_not_before_the_first_step(count, period):
    parts = fragments(layout_of(LAYERS["equal layers"]), count)
    sent = {k: [n for n in range(5 * period + 1) if k in due(n, parts, period)] for k in range(count)}
    for k, steps in sent.items():
        first = k * period // count or period
        assert steps == list(range(first, 5 * period + 1, period))
    if period % count == 0:
        assert max(len(due(n, parts, period)) for n in range(1, 5 * period)) == 1, "one after the other"


def test_an_empty_fragment_is_never_sent():
    parts = fragments(layout_of(LAYERS["one layer"]), 3)
    sent = {k for n in range(20) for k in due(n, parts, 6)}
    assert len(sent) == 1
    assert parts[sent.pop()] == slice(0, 63)


def test_a_fragment_arrives_before_it_is_sent_again():
    assert StreamingDiloco(period=4, delay=3).faults(2) == []
    assert StreamingDiloco(period=4, delay=4).faults(2) == ["delay 4 is not less than period 4"]
