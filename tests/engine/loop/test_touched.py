"""Steps that read only the rows of which a gradient consists: the bits of steps that read everything."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Slice
from hooke.comm.touched import Rows, Touched
from hooke.loop.train import run_spec_virtual
from hooke.objective.candidates import RandomActive
from hooke.objective.planted import planted
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
DATA = planted(labels=300, features=500, items=800, seed=1)


class Silent(WideObjective):
    """The same objective, which does not tell the rows."""

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
