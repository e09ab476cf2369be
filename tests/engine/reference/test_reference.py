"""The reference is itself checked: against closed forms, against itself at limits, and by a wrong variant."""

import numpy as np
import pytest

from tests.engine.reference import closed, elastic
from tests.engine.reference.elastic import Constants, Spring

SIZE = 6


def pulls(seed: int, workers: int, h: float = 1.0, noise: float = 0.3):
    """Return gradient(i, t, x) = h * (x - b_i - noise_{i,t}) with everything recorded beforehand."""
    random = np.random.default_rng(seed)
    b = random.normal(size=(workers, SIZE))
    recorded = random.normal(scale=noise, size=(workers, 200, SIZE))
    return lambda i, t, x: h * (x - b[i] - recorded[i, t])


def at_rest(i, t, x):
    return np.zeros_like(x)


def apart(seed: int, workers: int) -> Spring:
    """Return workers and center that start at different points."""
    random = np.random.default_rng(seed)
    s = Spring.at(np.zeros(SIZE), workers)
    s.x = list(random.normal(size=(workers, SIZE)))
    s.c = random.normal(size=SIZE)
    s.centers = [s.c.copy()]
    return s


RUNS = {
    "sync": lambda s, g, k: elastic.sync_easgd(s, g, k, 20),
    "original": lambda s, g, k: elastic.original_easgd(s, g, k, 20 * len(s.x)),
    "async": lambda s, g, k: elastic.async_easgd(
        s,
        g,
        k,
        [i for i in np.random.default_rng(5).permutation(np.repeat(range(len(s.x)), -(-20 // k.period)))],
        [20] * len(s.x),
    ),
}


def drift(run, workers: int, k: Constants) -> float:
    """Return how far SUM x_i + c is from where the gradients alone would have put it (I1)."""
    spent = np.zeros(SIZE)
    gradient = pulls(1, workers)

    def counted(i, t, x):
        g = gradient(i, t, x)
        spent[:] += k.eta * g
        return g

    s = apart(2, workers)
    before = s.total()
    run(s, counted, k)
    return float(np.abs(s.total() - (before - spent)).max())


@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("workers", [1, 2, 4, 5])
@pytest.mark.parametrize("name", RUNS)
def test_symmetric_exchanges_conserve_the_sum(name, workers, period):
    assert drift(RUNS[name], workers, Constants(0.05, 2.0, period)) < 1e-12


def test_pulling_to_the_new_center_does_not_conserve_the_sum():
    wrong = drift(lambda s, g, k: elastic.gauss_seidel_easgd(s, g, k, 20), 4, Constants(0.05, 2.0))
    assert wrong > 0.01


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_one_worker_makes_all_elastic_methods_equal(momentum):
    k = Constants(0.1, 1.5, 1, momentum)
    ends = [RUNS[name](apart(3, 1), pulls(1, 1), k) for name in RUNS]
    for end in ends[1:]:
        np.testing.assert_array_equal(end.x[0], ends[0].x[0])
        np.testing.assert_array_equal(end.c, ends[0].c)


@pytest.mark.parametrize("name", RUNS)
def test_without_elasticity_workers_are_alone(name):
    s = RUNS[name](Spring.at(np.ones(SIZE), 3), pulls(1, 3), Constants(0.1, 0.0))
    np.testing.assert_array_equal(s.c, np.ones(SIZE))
    for i in range(3):
        np.testing.assert_array_equal(s.x[i], elastic.sgd(np.ones(SIZE), pulls(1, 3), 0.1, 20, worker=i))


@pytest.mark.parametrize("workers", [1, 2, 4, 5])
def test_consensus_without_gradients(workers):
    a = 0.5 / (workers + 1)
    s = apart(4, workers)
    rest = closed.consensus(np.array(s.x), s.c)
    distance = np.linalg.norm([*(x - rest for x in s.x), s.c - rest])
    elastic.sync_easgd(s, at_rest, Constants(0.1, a / 0.1), 30)
    after = np.linalg.norm([*(x - rest for x in s.x), s.c - rest])
    assert after <= closed.contraction(a, workers) ** 30 * distance * (1 + 1e-9)


def test_consensus_in_one_round_at_the_best_rate():
    s = apart(4, 4)
    rest = closed.consensus(np.array(s.x), s.c)
    elastic.sync_easgd(s, at_rest, Constants(0.1, 2.0), 1)  # a = 0.2 = 1 / (P + 1)
    np.testing.assert_allclose(s.c, rest, atol=1e-15)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_sync_closed_form(workers):
    h, eta, rho = 0.7, 0.1, 1.3
    s = apart(6, workers)
    x, c = closed.sync_quadratic(np.array(s.x), s.c, h, eta, eta * rho, 50)
    elastic.sync_easgd(s, lambda i, t, w: h * w, Constants(eta, rho), 50)
    np.testing.assert_allclose(s.x, x, atol=1e-14)
    np.testing.assert_allclose(s.c, c, atol=1e-14)


def test_sync_closed_form_with_a_period():
    h, eta, rho = 0.7, 0.1, 1.3
    s = apart(6, 3)
    x, c = closed.sync_quadratic_period(np.array(s.x), s.c, h, eta, eta * rho, 4, 5)
    elastic.sync_easgd(s, lambda i, t, w: h * w, Constants(eta, rho, 4), 20)
    np.testing.assert_allclose(s.x, x, atol=1e-14)
    np.testing.assert_allclose(s.c, c, atol=1e-14)


def test_round_robin_and_sync_differ_by_order_a_squared():
    s = apart(7, 4)
    x, c = np.array(s.x), s.c
    gaps = []
    for a in (0.1, 0.05, 0.025):
        robin, sync = closed.frozen_round_robin(x, c, a), closed.frozen_sync(x, c, a)
        gaps.append(np.abs(robin - sync).max())
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.1)
    np.testing.assert_allclose(
        elastic.sync_easgd(s, at_rest, Constants(0.1, 1.0), 1).c, closed.frozen_sync(x, c, 0.1), atol=1e-15
    )


def test_round_robin_closed_form_from_the_run():
    s = apart(7, 4)
    expected = closed.frozen_round_robin(np.array(s.x), s.c, 0.1)
    elastic.original_easgd(s, at_rest, Constants(0.1, 1.0), 4)  # each worker moves only after its own exchange
    np.testing.assert_allclose(s.c, expected, atol=1e-15)


def test_fixed_point_is_where_sync_easgd_rests_and_is_biased():
    random = np.random.default_rng(8)
    h, b = random.uniform(0.5, 3, size=(3, SIZE)), random.normal(size=(3, SIZE))
    x, c = closed.fixed_point(h, b, 1.2)
    s = Spring.at(np.zeros(SIZE), 3)
    elastic.sync_easgd(s, lambda i, t, w: h[i] * (w - b[i]), Constants(0.1, 1.2), 3000)
    np.testing.assert_allclose(s.x, x, atol=1e-12)
    np.testing.assert_allclose(s.c, c, atol=1e-12)
    assert np.abs(c - closed.minimum(h, b)).max() > 0.01
    same = np.broadcast_to(h[0], h.shape)
    np.testing.assert_allclose(closed.fixed_point(same, b, 1.2)[1], closed.minimum(same, b), atol=1e-14)


@pytest.mark.parametrize("eta_h", [0.1, 1.0, 1.9])
@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_stability_edge(workers, eta_h):
    def growth(a):
        s = apart(9, workers)
        k = Constants(1.0, a)
        sizes = []
        for _ in range(2):
            elastic.sync_easgd(s, lambda i, t, w: eta_h * w, k, 1500)
            sizes.append(np.linalg.norm([*s.x, s.c]))
        return sizes[1] / sizes[0]

    edge = closed.sync_edge(eta_h, workers)
    assert growth(edge * 0.99) < 0.9
    assert growth(edge * 1.01) > 1.1
    if workers == 1:
        assert edge == pytest.approx(closed.single_edge(eta_h))


def test_sum_is_mean_with_a_larger_rate():
    mean = elastic.sync_sgd(np.ones(SIZE), pulls(1, 4), 0.2, 10, 4, "mean")
    np.testing.assert_allclose(mean, elastic.sync_sgd(np.ones(SIZE), pulls(1, 4), 0.05, 10, 4, "sum"), atol=1e-14)
    np.testing.assert_array_equal(
        elastic.sync_sgd(np.ones(SIZE), pulls(1, 1), 0.2, 10, 1), elastic.sgd(np.ones(SIZE), pulls(1, 1), 0.2, 10)
    )


def test_an_order_that_forgets_an_exchange_is_refused():
    with pytest.raises(ValueError, match="worker 1 exchanges at step 0"):
        elastic.async_easgd(Spring.at(np.zeros(SIZE), 2), at_rest, Constants(0.1, 1.0), [0], [1, 1])
