"""Row-wise and lazy Adam against torch and float64, row by row."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Slice
from hooke.comm.touched import Rows, Touched
from hooke.loop.train import run_spec_virtual
from hooke.methods.rowwise import LazyAdamStep, RowAdamStep
from hooke.objective.active_labels import RandomActive
from hooke.objective.planted import Planted
from hooke.objective.wide import WideObjective

ROWS, WIDTH, STEPS, LR, DECAY = 9, 4, 12, 0.02, 0.1
PARTS = (Slice("matrix", 0, ROWS * WIDTH, (ROWS, WIDTH)), Slice("bias", ROWS * WIDTH, ROWS * (WIDTH + 1), (ROWS,)))
KINDS = {"row-adam": RowAdamStep, "lazy-adam": LazyAdamStep}


class Alone:
    """As much of a rank as a step needs. `told`: whether it knows the rows of its gradient."""

    def __init__(self, told=False):
        self.layout, self.t, self.told, self.rows = PARTS, 0, told, None
        self.params = torch.randn(PARTS[-1].stop, generator=torch.Generator().manual_seed(7))

    def state(self, name, like=None):
        return torch.zeros_like(self.params)

    def stepped(self, elements):
        pass

    def touched(self, g):
        return self.rows if self.told else None


def gradients(some):
    """Yield (rows of the matrix with a gradient, gradient); the bias has the same rows."""
    random = np.random.default_rng(3)
    for step in range(STEPS):
        rows = np.sort(random.choice(ROWS, 4, replace=False)) if some else np.arange(ROWS)
        g = np.zeros((ROWS, WIDTH + 1), np.float32)
        g[rows] = random.normal(size=(len(rows), WIDTH + 1)) * 10.0 ** (step % 3 - 1)
        yield rows, g


def flat(matrix):
    return torch.from_numpy(np.concatenate([matrix[:, :WIDTH].ravel(), matrix[:, WIDTH]]))


def stepped(kind, some, told=False, decay=0.0, move=False):
    """Return the weights before and after all steps."""
    r = Alone(told)
    first, step = r.params.clone(), kind(r, LR, decay=decay)
    for rows, g in gradients(some):
        ids = torch.from_numpy(rows)
        r.rows = Touched(tuple(Rows(part, ids) for part in PARTS))
        if move:
            along, factor = step.move(flat(g) * 2, 2)
            r.params.add_(along, alpha=factor)
        else:
            step.apply(flat(g) * 2, 2)  # the sum of two equal gradients
        r.t += 1
    return first, r.params


def test_lazy_adam_is_adamw_where_all_rows_have_a_gradient():
    first, found = stepped(LazyAdamStep, some=False, decay=DECAY)
    weights = torch.nn.Parameter(first.clone())
    truth = torch.optim.AdamW([weights], lr=LR, weight_decay=DECAY)
    for _, g in gradients(some=False):
        weights.grad = flat(g)
        truth.step()
    torch.testing.assert_close(found, weights.detach(), rtol=1e-5, atol=1e-6)


def test_lazy_adam_is_sparse_adam():
    first, found = stepped(LazyAdamStep, some=True)
    matrix = torch.nn.Parameter(first[: ROWS * WIDTH].view(ROWS, WIDTH).clone())
    truth = torch.optim.SparseAdam([matrix], lr=LR)
    for rows, g in gradients(some=True):
        ids, values = torch.from_numpy(rows)[None], torch.from_numpy(g[rows, :WIDTH])
        matrix.grad = torch.sparse_coo_tensor(ids, values, (ROWS, WIDTH), check_invariants=False)
        truth.step()
    torch.testing.assert_close(found[: ROWS * WIDTH].view(ROWS, WIDTH), matrix.detach(), rtol=1e-4, atol=1e-5)


def row_adam(first, some, decay):
    """Return the weights of the equations, in float64, with a loop over rows."""
    x = [first[: ROWS * WIDTH].double().numpy().reshape(ROWS, WIDTH).copy()]
    x.append(first[ROWS * WIDTH :].double().numpy().reshape(ROWS, 1).copy())
    m, v, n = [np.zeros_like(part) for part in x], np.zeros((2, ROWS)), np.zeros((2, ROWS))
    for rows, g in gradients(some):
        for k, own in enumerate((g[:, :WIDTH], g[:, WIDTH:])):
            for row in rows:
                gradient = own[row].astype(np.float64)
                n[k, row] += 1
                m[k][row] = 0.9 * m[k][row] + 0.1 * gradient
                v[k, row] = 0.999 * v[k, row] + 0.001 * (gradient**2).mean()
                mean, square = m[k][row] / (1 - 0.9 ** n[k, row]), v[k, row] / (1 - 0.999 ** n[k, row])
                x[k][row] = (1 - LR * decay) * x[k][row] - LR * mean / (np.sqrt(square) + 1e-8)
    return np.concatenate([part.ravel() for part in x])


@pytest.mark.parametrize("some", [True, False])
def test_row_adam_follows_its_equations(some):
    first, found = stepped(RowAdamStep, some, decay=DECAY)
    np.testing.assert_allclose(found.numpy(), row_adam(first, some, DECAY), rtol=1e-5, atol=1e-6)


def test_row_adam_of_rows_with_one_element_is_adamw():
    first, found = stepped(RowAdamStep, some=False, decay=DECAY)
    weights = torch.nn.Parameter(first[ROWS * WIDTH :].clone())
    truth = torch.optim.AdamW([weights], lr=LR, weight_decay=DECAY)
    for _, g in gradients(some=False):
        weights.grad = flat(g)[ROWS * WIDTH :]
        truth.step()
    torch.testing.assert_close(found[ROWS * WIDTH :], weights.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS.values())
def test_the_bits_do_not_depend_on_whether_rows_are_told(kind):
    for move in (False, True):
        one, other = (stepped(kind, True, told, DECAY, move)[1] for told in (False, True))
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_step_is_what_it_moves(kind):
    applied, moved = (stepped(kind, True, decay=DECAY, move=move)[1] for move in (False, True))
    torch.testing.assert_close(applied, moved, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("optimizer", KINDS)
def test_workers_take_them_in_runs(optimizer):
    """Rows that no step has touched keep their bits; sums of touched rows are those of whole vectors."""
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "xmlc-mlp"},
        "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.01, "optimizer": optimizer}},
        "batch": 4,
        "seed": 4,
        "workers": 2,
        "budget": {"samples": 48},
        "evaluation": {"every": 48},
        "world": "virtual",
        "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
    }
    data = Planted(300, 500, 800, seed=1).parts()
    made = []

    def make():
        made.append(WideObjective(*data, 6, RandomActive(300, 10)))
        return made[-1]

    found = [
        run_spec_virtual(validate_run(document | {"communication": {"rows": rows}}), None, make)[0]
        for rows in ("all", "touched")
    ]
    assert found[0].weights.tobytes() == found[1].weights.tobytes()
    part = made[0].layout[2]
    both = made[0].initial(4).numpy(), found[0].weights
    before, after = (vector[part.start : part.stop].reshape(part.shape) for vector in both)
    changed = (before != after).any(axis=1).sum()
    assert 20 < changed < 200
