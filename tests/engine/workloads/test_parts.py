"""The rule that splits a validation part off, against plain Python."""

import pytest
from hooke.errors import DataInvalid
from hooke.parts import cut_of_text, held_out


@pytest.mark.parametrize(
    ("count", "validation"), [(10, 1), (19, 1), (20, 2), (60_000, 6_000), (100_000, 10_000), (1_281_167, 9_931)]
)
def test_rule(count: int, validation: int) -> None:
    every = 10
    while every * 10_000 < count:
        every += 1
    kept, held = held_out(count)
    assert kept.tolist() == [i for i in range(count) if i % every != every - 1]
    assert held.tolist() == [i for i in range(count) if i % every == every - 1]
    assert len(held) == validation


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_items_are_refused(count: int) -> None:
    with pytest.raises(DataInvalid, match=f"{count} items is too small"):
        held_out(count)


@pytest.mark.parametrize(("length", "cut"), [(0, 0), (9, 9), (10, 9), (1_115_394, 1_003_855)])
def test_text(length: int, cut: int) -> None:
    assert cut_of_text(length) == cut
