"""Search spaces against closed forms, and what cannot be one."""

import math

import numpy as np
import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.spec.spaces import EDGE, Space
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

SHARES = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("space", "share", "value"),
    [
        (Space(low=2, high=6), 0.25, 3.0),
        (Space(low=0.001, high=0.1, scale="log"), 0.5, 0.01),
        (Space(low=0.0, high=0.99, scale="reverse-log"), 0.5, 0.9),
        (Space(choices=["a", "b", "c"]), 0.34, "b"),
        (Space(choices=[False, True]), 0.999, True),
    ],
)
def test_values_are_those_of_the_scale(space, share, value):
    assert space.at(share) == pytest.approx(value) if isinstance(value, float) else space.at(share) == value


@given(SHARES, st.sampled_from(["linear", "log", "reverse-log"]), st.floats(0.001, 0.4), st.floats(0.5, 0.999))
def test_position_is_the_inverse(share, scale, low, high):
    space = Space(low=low, high=high, scale=scale)
    value = space.at(share)
    assert low <= value <= high
    assert space.position(value) == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize(("low", "high"), [(1, 3), (1, 64), (4, 1000)])
def test_whole_numbers_have_the_shares_of_their_interval(low, high):
    """k stands for [k - 1/2, k + 1/2] on the log scale; every number occurs, and no other."""
    space = Space(low=low, high=high, scale="log", integer=True)
    shares = (np.arange(200_000) + 0.5) / 200_000
    values, counts = np.unique([space.at(share) for share in shares], return_counts=True)
    width = math.log(high + 0.5) - math.log(low - 0.5)
    expected = [(math.log(k + 0.5) - math.log(k - 0.5)) / width for k in range(low, high + 1)]
    assert values.tolist() == list(range(low, high + 1))
    np.testing.assert_allclose(counts / 200_000, expected, atol=2e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"low": 1},
        {"low": 2, "high": 2},
        {"low": 0, "high": 1, "scale": "log"},
        {"low": 0, "high": 1, "scale": "reverse-log"},
        {"choices": []},
        {"choices": [1], "low": 0, "high": 1},
        {"low": float("nan"), "high": 1},
        {"low": -1e308, "high": 1e308},
        {"low": 1, "high": 1e300, "scale": "log"},
        {"low": 0.5, "high": 8, "scale": "log", "integer": True},
        {"low": 2.2, "high": 2.8, "integer": True},
        {"low": -1, "high": 0, "scale": "reverse-log", "integer": True},
        {"low": 1, "high": 1e20, "integer": True},
        {"low": 0.1, "high": 0.10000000000000002, "scale": "log"},
        {"choices": [0.1, 0.1]},
    ],
)
def test_what_is_no_space_is_refused(wrong):
    with pytest.raises(ValidationError):
        Space.model_validate(wrong)


def test_edges():
    space = Space(low=0.001, high=0.1, scale="log")
    inside = EDGE * math.log(100) * 1.1
    assert space.edge(0.001) == "low"
    assert space.edge(0.1) == "high"
    assert space.edge(0.001 * math.exp(inside)) is None
    assert Space(choices=["heavy-ball", "nesterov"]).edge("nesterov") is None, "words have no order"
    assert Space(choices=[1, 2, 4]).edge(4) == "high"
    assert Space(choices=[7]).edge(7) is None, "nothing was chosen"


def test_a_wider_space_holds_the_old_one():
    space = Space(low=0.001, high=0.1, scale="log")
    assert space.widened("high") == Space(low=0.001, high=1.0, scale="log")
    assert space.widened("low") == Space(low=0.0001, high=0.1, scale="log")
    assert Space(low=0.0, high=0.9, scale="reverse-log").widened("high").high < 1


@pytest.mark.parametrize(
    ("choices", "end", "wider"),
    [
        ([1, 2, 4, 8], "high", [1, 2, 4, 8, 16]),
        ([1, 2, 4, 8], "low", [0.5, 1, 2, 4, 8]),
        ([0, 1, 2, 4], "high", [0, 1, 2, 4, 8]),
        ([0, 1, 2, 4], "low", [-1, 0, 1, 2, 4]),
        ([0.1, 0.01, 0.001], "low", [0.0001, 0.1, 0.01, 0.001]),
        ([16, 8, 24], "high", [16, 8, 24, 32]),
        ([-4, -2, -1], "low", [-8, -4, -2, -1]),
    ],
)
def test_choices_are_widened_by_the_one_that_follows(choices, end, wider):
    assert Space(choices=choices).widened(end) == Space(choices=wider)


HUGE = [10**200, 10**210, 10**220]


@pytest.mark.parametrize(
    "choices", [[1, 2], [1, 2, 9], ["a", "b", "c"], [None, 1, 2, 4], [False, True], HUGE, [-n for n in HUGE]]
)
def test_what_follows_other_choices_is_not_known(choices):
    for end in ("low", "high"):
        with pytest.raises(ValueError, match="add choices"):
            Space(choices=choices).widened(end)


def test_values_near_1_keep_four_digits_of_their_distance_to_1():
    space = Space(low=0.9, high=0.99999, scale="reverse-log")
    values = [space.at(share) for share in np.linspace(0, 1 - 1e-12, 50)]
    assert len(set(values)) == 50
    assert values[-1] == pytest.approx(0.99999, abs=1e-12)
    assert str(space.at(0.5)) == "0.999"


@given(
    st.floats(allow_nan=True),
    st.floats(allow_nan=True),
    st.sampled_from(["linear", "log", "reverse-log"]),
    st.booleans(),
    SHARES,
)
def test_every_interval_that_is_accepted_can_be_used(low, high, scale, integer, share):
    try:
        space = Space(low=low, high=high, scale=scale, integer=integer)
    except ValidationError:
        return
    value = space.at(share)
    assert low <= value <= high
    assert 0 <= space.position(value) <= 1
    space.edge(value)
    for end in ("low", "high"):
        try:
            wider = space.widened(end)
        except ValueError as error:
            assert "cannot be widened" in str(error)  # noqa: PT017 - most spaces can
        else:
            assert wider == Space.model_validate(wider.model_dump())
            assert wider.low <= space.low
            assert wider.high >= space.high


@pytest.mark.parametrize("name", catalogue())
def test_every_method_takes_all_values_of_its_spaces(name):
    kind = catalogue()[name]
    assert kind.spaces(), "nothing of it would be tuned"
    for parameter, space in kind.spaces().items():
        for share in (0.0, 0.5, 1 - 1e-12):
            conditions = {other: values[0] for other, values in space.when.items()}
            kind.model_validate({**kind.tested_with, **conditions, parameter: space.at(share)})


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from(["linear", "log"]))
def test_a_whole_number_is_found_again_at_its_share(low, more, scale):
    space = Space(low=low, high=low + more, scale=scale, integer=True)
    assert all(space.at(space.share(value)) == value for value in range(low, low + more + 1))
    assert space.share(low + more + 1) is None


def test_choices_have_the_order_of_their_values():
    space = Space(choices=[4, 64, 16])
    assert [space.edge(value) for value in (4, 16, 64)] == ["low", None, "high"]
    assert [space.at(space.share(value)) for value in (4, 16, 64)] == [4, 16, 64]


def test_spaces_in_words():
    assert Space(low=0.003, high=1.0, scale="log").in_words == "0.003 to 1, log"
    assert Space(low=1, high=64, scale="log", integer=True).in_words == "1 to 64, whole, log"
    assert Space(low=-0.5, high=1e6).in_words == "-0.5 to 1e+06"
    assert Space(choices=[None, 0.1, "nesterov", True]).in_words == "empty, 0.1, nesterov, True"
