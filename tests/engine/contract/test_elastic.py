"""How a moving rate is given, when it is too stiff, and what the catalogue refuses or warns of."""

import itertools
import random
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hooke.catalogue.algorithm import catalogue
from hooke.methods.elastic import Elastic, Spring, concurrent_bound
from hooke.methods.pieces import PIECE
from pydantic import ValidationError

from tests.engine.contract.cases import ONE_HOST, Case, play_virtual
from tests.engine.contract.expected import center_of
from tests.engine.contract.objective import Quadratics

ELASTIC = [name for name, kind in catalogue().items() if issubclass(kind, Elastic)]


@pytest.mark.parametrize(
    ("name", "given", "workers", "rate"),
    [
        ("sync-easgd", {"lr": 0.1, "rho": 2.0}, 4, 0.2),
        ("sync-easgd", {"alpha": 0.3, "rho": 2.0}, 4, 0.3),
        ("async-easgd", {"beta": 0.9}, 4, 0.225),
        ("async-easgd", {"beta": 0.9, "period": 5}, 4, 0.225),
        ("async-easgd", {"beta": 0.9, "period": 5, "beta_per": "P tau"}, 4, 0.045),
        ("easgd", {}, 6, 0.15),
        ("easgd", {"beta": None, "alpha": 0.3}, 6, 0.3),
        ("original-easgd", {"beta": 0.9, "beta_per": "P tau"}, 3, 0.3),
        ("chip-easgd", {"beta": 0.9, "parts": 3}, 9, 0.3),
    ],
)
def test_the_moving_rate(name, given, workers, rate):
    assert catalogue()[name].model_validate(given).rate(workers) == pytest.approx(rate)


@pytest.mark.parametrize("size", [1, 7, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
@pytest.mark.parametrize("m", [1, 4])
def test_a_spring_in_pieces_moves_one_end_as_in_one_piece(size, m):
    """Every bit as one operation after the other on whole vectors, and the number that float64 gives."""
    generator = torch.Generator().manual_seed(size)
    x, c = torch.randn(size, generator=generator), torch.randn(size, generator=generator)
    before, held = x.clone(), c.clone()
    exact = before.double() + 0.225 * (c.double() - m * before.double())
    Spring(SimpleNamespace(params=x), 0.225).pull(x, c, m)
    assert torch.equal(x, before.add(c.sub(before, alpha=m), alpha=0.225))
    assert torch.equal(c, held)
    np.testing.assert_allclose(x.numpy(), exact.numpy(), rtol=1e-5, atol=1e-6)


def test_two_ways_at_once_are_refused():
    with pytest.raises(ValidationError, match="not both"):
        catalogue()["easgd"].model_validate({"alpha": 0.1})


def size(name, given, a, steps, folder):
    """Return how far from rest a run without gradients is, after one kick that moves the workers apart."""
    still = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
    case = Case(name, given, 4, steps=steps, objective=still, every=10**6).pulling(a)
    reports = play_virtual(case, folder)
    apart = np.array([report.weights - center_of(reports) for report in reports[:4]])
    return float(np.abs(apart).max())


@pytest.mark.property("P16", workers=4)
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("sync-easgd", ()),
        ("sync-easgd1", ()),
        ("sync-easgd3", ()),
        ("chip-easgd", (("parts", 2),)),
        ("sma", (("center_momentum", 0.5),)),
    ],
)
def test_the_bound_is_where_it_begins_to_diverge(name, given, tmp_path):
    bound = catalogue()[name].model_validate(dict(given)).bound(4)
    below, above = bound * 0.97, bound * 1.03
    assert size(name, given, below, 40, tmp_path) < 0.5 * size(name, given, below, 10, tmp_path)
    assert size(name, given, above, 40, tmp_path) > 2 * size(name, given, above, 10, tmp_path)


def contraction(order, workers, a):
    """Return by how much a round of reads and writes in this order shrinks the distance from consensus, float64.

    ("r", i): worker i reads c. ("w", i): c' = c + a (x_i - what i read), x_i' = x_i - a (x_i - what i read).
    """
    read, c = workers, 2 * workers  # rows: x_0..x_P-1, what each has read, c
    round_ = np.eye(2 * workers + 1)
    for what, i in order:
        if what == "r":
            round_[read + i] = round_[c]
        else:
            pull = a * (round_[i] - round_[read + i])
            round_[c] += pull
            round_[i] -= pull
    values = np.linalg.eigvals(round_)
    return float(np.delete(np.abs(values), np.argmin(np.abs(values - 1))).max())


def orders(workers):
    """Yield every order in which each worker reads once and writes once per round, up to their names."""
    events = [(what, i) for i in range(workers) for what in "rw"]
    seen = set()
    for rest in itertools.permutations(events[1:]):
        named = {}
        order = tuple((what, named.setdefault(i, len(named))) for what, i in (events[0], *rest))
        if order not in seen:
            seen.add(order)
            yield order


def together(workers):
    return [(what, i) for what in "rw" for i in range(workers)]


def each_behind_its_own_write(workers):
    return [(what, i) for i in range(workers) for what in "wr"]


@pytest.mark.property("P16", of=("hogwild-easgd",), workers=4)
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_no_order_of_concurrent_readers_grows_below_the_bound(workers):
    bound = concurrent_bound(workers)
    grows = [order for order in orders(workers) if contraction(order, workers, 1.01 * bound) > 1]
    assert all(contraction(order, workers, 0.99 * bound) < 1 for order in orders(workers))
    assert grows, "just above it, one does"
    worst = together(workers) if workers < 4 else each_behind_its_own_write(workers)
    assert contraction(worst, workers, 1.01 * bound) > 1


@pytest.mark.parametrize("workers", [5, 8, 13, 32])
def test_of_many_concurrent_readers_reading_behind_the_own_write_is_worst(workers):
    bound = concurrent_bound(workers)
    worst, shuffled = each_behind_its_own_write(workers), together(workers)
    assert contraction(worst, workers, 0.999 * bound) < 1 < contraction(worst, workers, 1.001 * bound)
    assert contraction(together(workers), workers, 1.001 * bound) < 1
    assert bound == pytest.approx(np.pi / 2 / workers, rel=0.05)
    for seed in range(40):
        random.Random(seed).shuffle(shuffled)
        assert contraction(shuffled, workers, 0.999 * bound) < 1


@pytest.mark.property("P16", of=("hogwild-easgd",))
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("overlap", [True, False])
def test_equal_workers_of_one_host_read_before_any_writes_and_have_the_bounds_edge(workers, overlap, tmp_path):
    """The product itself: without jitter all read at one time, and then all add."""
    network = (*ONE_HOST, ("compute_jitter", 0.0))

    def apart(a, steps):
        still = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
        given = (("updates", "atomic"), ("overlap", overlap))
        case = Case("hogwild-easgd", given, workers, steps=steps, objective=still, every=10**6, network=network)
        reports = play_virtual(case.pulling(a), tmp_path)
        return float(np.abs([r.weights - center_of(reports) for r in reports]).max())

    bound = concurrent_bound(workers)
    assert apart(0.97 * bound, 90) < 0.5 * apart(0.97 * bound, 20)
    assert apart(1.03 * bound, 90) > 2 * apart(1.03 * bound, 20)


@pytest.mark.parametrize("name", ELASTIC)
def test_a_warning_says_the_bound(name):
    kind = catalogue()[name]
    given = {"beta": None, "period": 1} if "period" in kind.model_fields else {"beta": None}
    bound = kind.model_validate(given).bound(4)
    assert kind.model_validate(given | {"alpha": bound * 0.99}).warnings(4) == []
    (warning,) = kind.model_validate(given | {"alpha": bound * 1.01}).warnings(4)
    assert f"{bound:.4g}" in warning
    assert kind.model_validate({}).warnings(4) == []


def test_what_cannot_run_is_refused_with_a_reason():
    assert catalogue()["mdownpour"].model_validate({"period": 2}).faults(2)
    (fault,) = catalogue()["chip-easgd"].model_validate({"parts": 4}).faults(6)
    assert re.search(r"6 workers .* multiple of 4", fault)
    assert catalogue()["chip-easgd"].model_validate({"parts": 3}).faults(6) == []


@pytest.mark.property("P12", of=("async-sgd",))
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_stale_gradients_have_an_edge_of_their_own(workers, tmp_path):
    """Equal workers served in order: c' = c - eta g(c of P - 1 updates ago); the edge falls from 2 with P."""
    edge = 2 * np.sin(np.pi / (2 * (2 * (workers - 1) + 1)))

    def end(eta_h, steps):
        bowl = Quadratics(curvature=eta_h, noise=0.0, origin=True)
        quiet = (("compute_jitter", 0.0),)
        case = Case("async-sgd", (("lr", 1.0),), workers, steps=steps, objective=bowl, every=10**6, network=quiet)
        return float(np.abs(center_of(play_virtual(case, tmp_path))).max())

    assert end(edge * 0.9, 120) < 0.5 * end(edge * 0.9, 30)
    assert end(edge * 1.1, 120) > 2 * end(edge * 1.1, 30)


@pytest.mark.property("P13", workers=4)
@pytest.mark.parametrize(
    ("name", "given"),
    [("hogwild-sgd", ()), ("hogwild-easgd", ()), ("hogwild-easgd", (("overlap", False),))],
)
def test_plain_stores_lose_mass_and_say_how_much(name, given, tmp_path):
    network = (
        *ONE_HOST,
        ("memory_bandwidth", 1e5),
    )  # a store takes long enough for another worker's to come between
    lost = {}
    for updates in ("plain", "atomic"):
        case = Case(name, (("updates", updates), *given), 4, steps=40, network=network)
        lost[updates] = play_virtual(case, tmp_path)[0].done["lost_mass"]
    assert 0 <= lost["atomic"] < 1e-4 < lost["plain"] < 1


@pytest.mark.parametrize("momentum", [0.0, 0.4])
def test_elastic_slowmo_pulls_to_the_center_after_its_move(momentum, tmp_path):
    """Decision 36: with gamma = P a, d = 0 and no momentum EASGD whose simultaneous pull is to the moved center.

    By the equations, from one exchange to the next without gradients; EASGD of 2015 pulls to the center before.
    """
    still, a, workers = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True), 0.15, 4
    given = {"period": 1, "delay": 0, "pull": a, "slow_lr": workers * a, "slow_momentum": momentum}
    case = Case("elastic-slowmo", tuple(given.items()), workers, steps=2, objective=still, every=10**6)
    ends = [play_virtual(replace(case, steps=steps), tmp_path / str(steps)) for steps in (1, 2, 3)]
    centers = [center_of(reports) for reports in ends]
    x, c = np.array([report.weights for report in ends[1][:workers]]), centers[1]
    slow = momentum * (c - centers[0]) / (workers * a)
    moved = c + a * (x - c).sum(axis=0) + workers * a * slow
    np.testing.assert_allclose(centers[2], moved, rtol=1e-5, atol=1e-6)
    after = np.array([report.weights for report in ends[2][:workers]])
    np.testing.assert_allclose(after, x + a * (moved - x), rtol=1e-5, atol=1e-6)
    assert np.abs(after - (x + a * (c - x))).max() > 1e-3, "as published it would be another method"
