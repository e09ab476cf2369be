"""Increments of bands against the whole answers: whatever changes, a client ends with the same columns."""

import math
import random

import pytest
from hooke_api.base.caches import Budget
from hooke_api.metrics.increments import COLUMNS, Increments
from hooke_api.metrics.schemas import Band, BandAnswer


def band(points: list[tuple[float, float | None]], variant: str = "A") -> Band:
    y = [mean for _, mean in points]
    return Band(
        variant=variant,
        cluster="local",
        simulated=False,
        workers=2,
        metric="validation_accuracy",
        x=[x for x, _ in points],
        mean=y,
        low=y,
        high=y,
        n=[3] * len(points),
        runs=["run_1"],
    )


def answer(*bands: Band) -> BandAnswer:
    return BandAnswer(axis="clock", unit="s", bands=list(bands), position=0)


def after(have: Band, change: Band) -> Band:
    """Return what a client that has a band makes of a change."""
    head, tail = change.kept_before, change.kept_after
    columns = {
        name: getattr(have, name)[:head]
        + getattr(change, name)
        + getattr(have, name)[len(getattr(have, name)) - tail :]
        for name in COLUMNS
    }
    return change.model_copy(update=columns | {"kept_before": 0, "kept_after": 0})


@pytest.mark.parametrize("seed", range(20))
def test_a_client_that_follows_increments_has_what_whole_answers_have(seed):
    chance, known = random.Random(seed), Increments()
    points: list[tuple[float, float | None]] = []
    have = known.since(answer(band(points)), None)
    for _ in range(30):
        match chance.randrange(4):
            case 0:
                points = [*points, (len(points) + chance.random(), chance.random())]
            case 1 if points:
                at = chance.randrange(len(points))
                points = [*points[:at], (points[at][0], chance.choice([None, 0.5])), *points[at + 1 :]]
            case 2 if points:
                points = points[::2]
            case _:
                pass
        whole = answer(band(points))
        change = known.since(whole, have.version)
        assert change.since == have.version
        mine = after(have.bands[0], change.bands[0]) if change.bands else have.bands[0]
        assert mine == whole.bands[0]
        have = change.model_copy(update={"bands": [mine]})


def test_a_point_at_the_end_is_all_that_travels():
    known, points = Increments(), [(float(x), x / 400) for x in range(400)]
    first = known.since(answer(band(points), band(points, "B")), None)
    longer = known.since(answer(band([*points, (400.0, 1.0)]), band(points, "B")), first.version)
    assert [(b.kept_before, b.x, b.kept_after) for b in longer.bands] == [(400, [400.0], 0)]


def test_a_band_that_is_new_is_whole_and_gaps_equal_gaps():
    known, gap = Increments(), [(0.0, None), (1.0, 0.5)]
    first = known.since(answer(band(gap)), None)
    assert not any(math.isnan(x) for x in first.bands[0].x)
    change = known.since(answer(band(gap), band(gap, "B")), first.version)
    assert [(b.variant, b.kept_before, len(b.x)) for b in change.bands] == [("B", 0, 2)]


def test_what_is_forgotten_is_answered_in_full():
    one = Increments(budget := Budget(10**6))
    one.since(answer(band([(0.0, 0.0)])), None)
    known = Increments(Budget(2 * budget.held))
    versions = [known.since(answer(band([(0.0, i / 10)])), None).version for i in range(3)]
    assert known.since(answer(band([(0.0, 0.9)])), versions[0]).since is None
    assert len(set(versions)) == 3
