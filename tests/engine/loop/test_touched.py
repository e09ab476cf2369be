"""Steps that read only the rows of which a gradient consists: the bits of steps that read everything."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Slice
from hooke.comm.touched import Rows, Touched, nonzero
from hooke.errors import SpecError
from hooke.loop.train import run_spec_virtual
from hooke.methods.steps import Step
from hooke.objective.active_labels import RandomActive
from hooke.objective.planted import Planted
from hooke.objective.wide import WideObjective

RUN = {
    "schema": "hooke.run/1",
    "workload": {"name": "xmlc-mlp"},
    "batch": 4,
    "seed": 4,
    "budget": {"samples": 96},
    "evaluation": {"every": 48},
    "world": "virtual",
    "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
}
DATA = Planted(300, 500, 800, seed=1).parts()


SIZE = 500 * 6 + 6 + 300 * 6 + 300


class Counted(WideObjective):
    """The same objective, which tells how many elements its gradients have."""

    def __init__(self, lengths):
        super().__init__(*DATA, 6, RandomActive(300, 40))
        self.lengths = lengths

    def gradient(self, batch):
        loss = super().gradient(batch)
        self.lengths.append(len(self.touched))
        return loss


class Silent(WideObjective):
    """The same objective, which does not tell the rows, and so has all of them in its vector."""

    apart = property(lambda self: False, lambda self, value: None)
    touched = property(lambda self: None, lambda self, value: None)


def trained(kind, name, workers, **parameters):
    spec = validate_run(
        RUN | {"algorithm": {"name": name, "parameters": {"lr": 0.5, **parameters}}, "workers": workers}
    )
    made = []

    def make():
        made.append(kind(*DATA, 6, RandomActive(300, 40)))
        return made[-1]

    return run_spec_virtual(spec, None, make), made


@pytest.mark.parametrize("optimizer", ["sgd", "row-adagrad"])
@pytest.mark.parametrize(
    ("name", "workers", "parameters"),
    [
        ("sgd", 1, {}),
        ("sync-sgd", 2, {}),
        ("local-sgd", 3, {"period": 2}),
        ("sync-easgd", 2, {"rho": 0.3}),
        ("async-easgd", 2, {"rho": 0.3, "period": 2}),
        ("hogwild-sgd", 2, {"period": 2}),
        ("slowmo", 2, {"period": 3}),
        ("diloco", 2, {"period": 2}),
    ],
)
def test_every_bit_is_that_of_a_step_over_all_rows(name, workers, parameters, optimizer):
    one, _ = trained(WideObjective, name, workers, **parameters, optimizer=optimizer)
    other, _ = trained(Silent, name, workers, **parameters, optimizer=optimizer)
    for told, silent in zip(one, other, strict=True):
        assert np.isfinite(told.weights).all()
        assert told.weights.tobytes() == silent.weights.tobytes()


OPTIMIZERS, OTHERS = ("row-adagrad", "row-adam", "lazy-adam"), ({}, {"accumulation": 2}, {"clip_norm": 0.1})
DECAYING = (
    *(("sgd", 1, {}), ("sync-sgd", 3, {})),
    *(("local-sgd", 3, {"period": 2}), ("hogwild-sgd", 1, {"period": 2})),
)


@pytest.mark.parametrize(
    ("name", "workers", "parameters", "optimizer", "more"),
    [
        (*method, optimizer, OTHERS[(i + j) % len(OTHERS)])  # every two of the three occur together
        for i, optimizer in enumerate(OPTIMIZERS)
        for j, method in enumerate(DECAYING)
    ],
)
def test_weight_decay_is_that_of_rows_with_a_gradient(name, workers, parameters, optimizer, more):
    """Whether the objective tells the rows, an all-reduce does, or nobody: the others keep every bit."""
    given = {"optimizer": optimizer, "weight_decay": 0.5, "lr": 0.05, **parameters, **more}
    told, (objective, *_) = trained(WideObjective, name, workers, **given)
    silent, _ = trained(Silent, name, workers, **given)
    document = RUN | {"algorithm": {"name": name, "parameters": given}, "workers": workers}
    summed = run_spec_virtual(
        validate_run(document | {"communication": {"rows": "touched"}}),
        None,
        lambda: WideObjective(*DATA, 6, RandomActive(300, 40)),
    )
    for one, other, third in zip(told, silent, summed, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes() == third.weights.tobytes()
    part = objective.layout[0]
    rows = (told[0].weights - objective.initial(4).numpy())[part.start : part.stop].reshape(part.shape)
    assert (np.abs(rows) > 1e-5).any(axis=1).mean() < 1, "some rows of W1 have no gradient in this run"


def test_rows_without_a_gradient_keep_every_bit():
    (outcome,), (objective,) = trained(WideObjective, "sgd", 1, optimizer="row-adagrad", weight_decay=0.1)
    start = objective.initial(4).numpy()
    changed = {
        part.name: np.flatnonzero(
            (outcome.weights[part.start : part.stop] != start[part.start : part.stop])
            .reshape(part.shape[0], -1)
            .any(axis=1)
        )
        for part in objective.layout
    }
    assert 40 < len(changed["output.weight"]) <= 24 * 40
    assert len(changed["output.weight"]) < 300
    assert len(changed["hidden.weight"]) < 500


def test_row_adagrad_follows_its_equation():
    """One worker, all labels, against float64: the gradients are those of the product, the steps are not."""
    (outcome,), (objective,) = trained(WideObjective, "sgd", 1, optimizer="row-adagrad", lr=0.1, weight_decay=0.05)
    from hooke.objective.batches import Batches

    replay = WideObjective(*DATA, 6, RandomActive(300, 40))
    x = replay.initial(4)
    g = replay.allocate()
    replay.bind(x, g)
    batches = Batches(replay.train_size, 4, 4, 0, 1, "iid")
    sums = [np.zeros(part.shape[0]) for part in replay.layout]
    for _ in range(24):
        replay.gradient(replay.pick(batches.next()))
        new = x.double().numpy().copy()
        for part, s, rows in zip(replay.layout, sums, replay.touched, strict=True):
            ids = np.arange(part.shape[0]) if rows.ids is None else rows.ids.numpy()
            own = g[part.start : part.stop].double().numpy().reshape(part.shape[0], -1)[ids]
            ids, own = ids[own.any(axis=1)], own[own.any(axis=1)]  # not those of features whose hidden units are 0
            s[ids] += (own**2).mean(axis=1)
            values = new[part.start : part.stop].reshape(part.shape[0], -1)
            values[ids] = values[ids] * (1 - 0.1 * 0.05) - 0.1 * own / (np.sqrt(s[ids]) + 1e-8)[:, None]
        x.copy_(torch.from_numpy(new))
    np.testing.assert_allclose(outcome.weights, x.numpy(), rtol=1e-4, atol=1e-5)


def test_rows_of_a_vector():
    parts = (Slice("matrix", 0, 6, (3, 2)), Slice("bias", 6, 9, (3,)))
    touched = Touched((Rows(parts[0], torch.tensor([0, 2])), Rows(parts[1], None)))
    assert len(touched) == 7
    g = torch.tensor([1.0, 2, 0, 0, 5, 6, 7, 8, 9])
    assert touched.total(g) == 38
    x = torch.ones(9)
    touched.add(x, g, 2.0)
    assert x.tolist() == (torch.ones(9) + 2 * g).tolist()
    touched.clear(g)
    assert not g.any()
    assert np.isnan(touched.total(g.fill_(float("nan"))))


# -- sums of touched rows ----------------------------------------------------------------------------------


def summed(rows, active, name="sync-sgd", workers=3, wire="fp32", **parameters):
    """Return the outcomes of a run whose all-reduces send `rows`, and the bytes that its workers sent."""
    communication = {"rows": rows, "wire": wire, "error_feedback": False}
    chosen = {"name": name, "parameters": {"lr": 0.5, **parameters}}
    spec = validate_run(RUN | {"algorithm": chosen, "workers": workers, "communication": communication})
    outcomes = run_spec_virtual(spec, None, lambda: WideObjective(*DATA, 6, RandomActive(300, active)))
    return outcomes, sum(outcome.done.wire for outcome in outcomes)


@pytest.mark.parametrize("optimizer", ["sgd", "row-adagrad"])
@pytest.mark.parametrize("active", [40, 300])
def test_sums_of_touched_rows_are_those_of_whole_vectors(active, optimizer):
    """Two workers: a sum has one order. With three, the tree adds every element in the same order, too."""
    for workers in (2, 3):
        whole, _ = summed("all", active, workers=workers, optimizer=optimizer)
        touched, _ = summed("touched", active, workers=workers, optimizer=optimizer)
        for one, other in zip(whole, touched, strict=True):
            assert one.weights.tobytes() == other.weights.tobytes()


def test_few_touched_rows_are_few_bytes():
    """At most 12 items touch 3 x 10 of 300 labels, and with 16 features and more each some 250 of 500 features."""
    _, whole = summed("all", 10)
    _, touched = summed("touched", 10)
    assert touched < 0.5 * whole


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("slowmo", {"period": 3}), ("diloco", {"period": 2}), ("co2", {"period": 2}), ("pipe-sgd", {"delay": 2})]
    + [("delayed-gradient-averaging", {})],
)
def test_updates_are_summed_where_they_are_not_zero(name, parameters):
    parameters |= {"optimizer": "row-adagrad"}
    whole, much = summed("all", 10, name, **parameters)
    touched, little = summed("touched", 10, name, **parameters)
    assert all(a.weights.tobytes() == b.weights.tobytes() for a, b in zip(whole, touched, strict=True))
    assert little < 0.65 * much


def test_nan_is_not_zero():
    (rows,) = nonzero((Slice("matrix", 0, 12, (6, 2)),), torch.tensor([0.0] * 4 + [float("nan")] + [0.0] * 7))
    assert rows.ids.tolist() == [2]


@pytest.mark.parametrize("workers", range(2, 9))
def test_averages_are_summed_where_they_differ_from_the_latest(workers):
    """The sum of P equal numbers in the order of the tree is not P times the number, for P = 5 and 7."""
    whole, much = summed("all", 4, "local-sgd", workers, period=2)
    touched, little = summed("touched", 4, "local-sgd", workers, period=2)
    for a, b in zip(whole, touched, strict=True):
        assert a.weights.tobytes() == b.weights.tobytes()
    assert len({outcome.center.tobytes() for outcome in touched}) == 1, "replicas are equal bit by bit"
    assert little < (0.95 if workers < 5 else 1.05) * much, "many workers together touch most rows"


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
@pytest.mark.parametrize("workers", range(2, 9))
def test_averages_go_on_bit_for_bit(tmp_path, workers, wire):
    """And byte for byte: the rows that differ from the latest average are known after a restart, too."""
    spec = validate_run(
        RUN
        | {
            "algorithm": {"name": "local-sgd", "parameters": {"lr": 0.5, "period": 2}},
            "workers": workers,
            "communication": {"rows": "touched", "wire": wire, "error_feedback": False},
            "budget": {"samples": 32 * workers},
            "evaluation": {"every": 32 * workers},
            "checkpoint": "always",
            "checkpoint_every": 8 * workers,
        }
    )
    make = lambda: WideObjective(*DATA, 6, RandomActive(300, 10))  # noqa: E731
    straight = run_spec_virtual(spec, tmp_path, make)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert 8 * workers <= int(places[0].name) < 32 * workers
    for later in places[1:]:
        (later / "complete.json").unlink()
    for one, other in zip(straight, run_spec_virtual(spec, tmp_path, make, resume=True), strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
        assert one.center.tobytes() == other.center.tobytes()
        assert one.done.clock == pytest.approx(other.done.clock, abs=1e-12)


def test_vectors_of_unknown_rows_are_summed_whole():
    """Those of Overlap Local SGD: weights that are summed in the background."""
    whole, sent = summed("all", 40, "overlap-local-sgd")
    touched, also = summed("touched", 40, "overlap-local-sgd")
    assert all(a.weights.tobytes() == b.weights.tobytes() for a, b in zip(whole, touched, strict=True))
    assert sent == also


def test_momentum_moves_all_rows():
    whole, _ = summed("all", 40, momentum=0.8)
    touched, _ = summed("touched", 40, momentum=0.8)
    assert all(a.weights.tobytes() == b.weights.tobytes() for a, b in zip(whole, touched, strict=True))


def test_rounded_rows_are_near():
    whole, _ = summed("all", 40)
    rounded, sent = summed("touched", 40, wire="bf16")
    _, exact = summed("touched", 40)
    off = np.abs(whole[0].weights - rounded[0].weights).max()
    assert 0 < off < 0.05
    assert sent < 0.65 * exact


@pytest.mark.parametrize("communication", [{"wire": "bf16"}, {"wire": "top-k", "error_feedback": False}])
def test_a_residual_of_changing_rows_is_refused(communication):
    with pytest.raises(SpecError, match="touched rows differ from step to step"):
        validate_run(
            RUN | {"algorithm": {"name": "sync-sgd"}, "communication": {"rows": "touched", **communication}}
        )


@pytest.mark.parametrize("name", ["sgd", "sync-sgd"])
def test_virtual_time_charges_the_rows_of_a_step(name):
    """Three accesses of the elements of its rows, not of all weights; with momentum, which moves all, of all."""
    virtual = RUN["virtual"] | {"memory_bandwidth": 1e6, "compute_jitter": 0, "latency": 0, "seconds_per_byte": 0}
    seconds = {}
    for momentum in (0.0, 0.5):
        chosen = {"name": name, "parameters": {"lr": 0.5, "momentum": momentum}}
        more = {"algorithm": chosen, "workers": 1, "virtual": virtual, "communication": {"rows": "touched"}}
        spec = validate_run(RUN | more)
        lengths = []
        (outcome,) = run_spec_virtual(spec, None, lambda told=lengths: Counted(told))
        seconds[momentum] = outcome.done.phases["update"]
    assert seconds[0.0] == pytest.approx(4 * 3 * sum(lengths) / 1e6, rel=1e-6)
    assert seconds[0.5] == pytest.approx(4 * 8 * len(lengths) * SIZE / 1e6, rel=1e-6)


def test_row_adagrad_leaves_the_gradient_as_it_was_written(monkeypatch):
    """An objective clears the rows of its latest gradient only if nobody has changed that; else all of it."""
    monkeypatch.setattr(Step, "alone", lambda self: self)  # without it there is nothing to clear
    objective = WideObjective(*DATA, 6, RandomActive(300, 40))
    cleared = []
    objective._clear = lambda whole, before=objective._clear: (
        cleared.append(objective._gradient._version == objective._written),
        before(whole),
    )
    spec = validate_run(
        RUN | {"algorithm": {"name": "sgd", "parameters": {"lr": 0.5, "optimizer": "row-adagrad"}}, "workers": 1}
    )
    run_spec_virtual(spec, None, lambda: objective)
    assert len(cleared) == 24 and all(cleared[1:])
