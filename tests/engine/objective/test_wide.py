"""The network with a wide output layer, against float64 automatic differentiation and counting."""

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Place
from hooke.errors import CheckpointError
from hooke.hashing.active import Assembler
from hooke.hashing.families import make_family
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.objective.active_labels import Full, InBatch, RandomActive, Sampled, filled
from hooke.objective.bags import split_off
from hooke.objective.item_sets import ItemObjective, RandomSets, SlideSets
from hooke.objective.planted import Planted
from hooke.objective.slide import Slide
from hooke.objective.wide import WideObjective
from hooke.objective.wide_building import assembler_of
from hooke.spec.specification import Compute
from hooke.workloads.xmlc_mlp import XmlcMlp

LABELS, FEATURES, HIDDEN = 60, 90, 7


@pytest.fixture(scope="module")
def data():
    return Planted(LABELS, FEATURES, 400, seed=3).parts()


class Watched:
    """A layer that remembers what the one behind it chose."""

    def __init__(self, layer):
        self.layer, self.chosen = layer, []

    def choose(self, *given):
        self.chosen.append(self.layer.choose(*given))
        return self.chosen[-1]

    def state(self):
        return self.layer.state()

    def restore(self, state):
        self.layer.restore(state)


def made(data, layer, **options):
    return WideObjective(*data, HIDDEN, Watched(layer), **options)


def bound(objective, seed=5):
    weights, gradient = objective.initial(seed), objective.allocate()
    weights.add_(torch.randn(len(weights), generator=torch.Generator().manual_seed(1)), alpha=0.1)
    objective.bind(weights, gradient)
    return weights, gradient


def items(bags):
    """Return (features, values, labels) of every item, as lists of plain numbers."""
    f, y = bags.features, bags.labels
    return [
        (
            f.ids[f.starts[i] : f.starts[i + 1]].tolist(),
            f.values[f.starts[i] : f.starts[i + 1]].tolist(),
            y.ids[y.starts[i] : y.starts[i + 1]].tolist(),
        )
        for i in range(len(bags))
    ]


def hidden_of(weights, features, values):
    w1, b1 = weights[0], weights[1]
    return torch.relu(b1 + sum(value * w1[feature] for feature, value in zip(features, values, strict=True)))


def loss_of(weights, bags, chosen):
    """Return the mean loss of a batch, item by item and label by label."""
    _, _, w2, b2 = weights
    every = range(len(b2)) if chosen.ids is None else chosen.ids.tolist()
    losses = []
    for features, values, labels in items(bags):
        h = hidden_of(weights, features, values)
        terms, targets = [], []
        for place, label in enumerate(every):
            z = w2[label] @ h + b2[label]
            if label in labels:
                targets.append(z)
            elif chosen.own is not None and bool(chosen.own[place]):
                continue
            elif chosen.offset is not None:
                z = z + float(chosen.offset[place])
            terms.append(z)
        assert len(targets) == len(labels)
        losses.append(torch.logsumexp(torch.stack(terms), 0) - sum(targets) / len(targets))
    return sum(losses) / len(losses)


def truth(objective, weights, bags, chosen):
    """Return loss and gradient by automatic differentiation in float64."""
    leaves = [weights[p.start : p.stop].view(p.shape).double().clone().requires_grad_() for p in objective.layout]
    loss = loss_of(leaves, bags, chosen)
    loss.backward()
    return loss.item(), torch.cat([leaf.grad.flatten() for leaf in leaves])


LAYERS = {
    "full": Full,
    "in-batch": InBatch,
    "random-active": lambda: RandomActive(LABELS, 30),
    "sampled": lambda: Sampled(LABELS, 25),
    "sampled, log-uniform": lambda: Sampled(LABELS, 25, "log-uniform"),
    "sampled, no correction": lambda: Sampled(LABELS, 25, correction=False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_loss_and_gradient_are_those_of_automatic_differentiation(data, name):
    objective = made(data, LAYERS[name]())
    weights, gradient = bound(objective)
    for start in (0, 40):  # the second one also clears the rows of the first
        bags = objective.pick(np.arange(start, start + 6))
        loss = objective.gradient(bags)
        expected, by = truth(objective, weights, bags, objective._layer.chosen[-1])
        assert loss == pytest.approx(expected, rel=1e-5)
        assert (gradient.double() - by).abs().max() < 1e-5 * by.abs().max()


@pytest.mark.parametrize("layer", [InBatch, Full])
def test_a_gradient_that_others_changed_is_written_anew(data, layer):
    objective = made(data, layer())
    weights, gradient = bound(objective)
    objective.gradient(objective.pick([0, 1]))
    gradient.add_(1.0)
    bags = objective.pick([2, 3])
    objective.gradient(bags)
    _, by = truth(objective, weights, bags, objective._layer.chosen[-1])
    assert (gradient.double() - by).abs().max() < 1e-5


def test_it_tells_the_rows_that_it_touches(data):
    objective = made(data, RandomActive(LABELS, 12))
    _, gradient = bound(objective)
    bags = objective.pick([5, 9, 11])
    objective.gradient(bags)
    features, bias, outputs, biases = objective.touched
    assert features.ids.tolist() == sorted({f for fs, _, _ in items(bags) for f in fs})
    assert bias.ids is None
    assert outputs.ids.tolist() == biases.ids.tolist() == objective._layer.chosen[-1].ids.tolist()
    assert {y for _, _, ys in items(bags) for y in ys} <= set(outputs.ids.tolist())
    left = gradient.clone()
    objective.touched.clear(left)
    assert not left.any()


def test_the_corrected_sum_has_the_expectation_of_the_whole_one():
    """Horvitz and Thompson: every negative counts 1 / chance, when it is drawn; 4 standard errors."""
    random = np.random.default_rng(0)
    z = random.normal(size=LABELS)
    own = np.array([3, 17])
    mixed = random.permutation(LABELS)
    for distribution, order in (("uniform", None), ("log-uniform", None), ("log-uniform", mixed)):
        layer, found = Sampled(LABELS, 20, distribution, order=order), []
        for _ in range(3000):
            chosen = layer.choose(own, None, None, random)
            ids, offset = chosen.ids.numpy(), chosen.offset.numpy()
            counts = ~np.isin(ids, own) & ~chosen.own.numpy()
            found.append(np.exp(z[own]).sum() + np.exp(z[ids] + offset)[counts].sum())
        error = np.std(found) / np.sqrt(len(found))
        assert abs(np.mean(found) - np.exp(z).sum()) < 4 * error
        assert error < 0.02 * np.exp(z).sum()


@pytest.mark.parametrize(("size", "labels"), [(10, 1000), (700, 1000), (1000, 1000), (5000, 1000), (2, 1000)])
def test_filled_sets_have_the_size_and_no_label_twice(size, labels):
    known = np.array([1, 5, 999])
    found = filled(known, size, labels, np.random.default_rng(1))
    assert len(found) == max(3, min(size, labels)) == len(set(found.tolist()))
    assert set(known.tolist()) <= set(found.tolist()) <= set(range(labels))
    assert sorted(found.tolist()) == found.tolist()


def test_evaluation_scores_all_labels(data):
    objective = made(data, InBatch(), validation_items=17)
    weights, gradient = bound(objective)
    cut = [weights[p.start : p.stop].view(p.shape).double() for p in objective.layout]
    for part, count in (("validation", 17), ("test", len(data[1]))):
        held = split_off(data[0])[1].take(np.arange(17)) if part == "validation" else data[1]
        loss, right = 0.0, 0
        for features, values, labels in items(held):
            z = cut[2] @ hidden_of(cut, features, values) + cut[3]
            loss += float(torch.logsumexp(z, 0) - z[labels].mean())
            right += int(z.argmax()) in labels
        score = objective.evaluate(weights, 0, count, part)
        assert (score.correct, score.count) == (right, count)
        assert score.loss_sum == pytest.approx(loss, rel=1e-5)
        halves = [objective.evaluate(weights, 0, 9, part), objective.evaluate(weights, 9, count, part)]
        assert sum(half.correct for half in halves) == right
    assert not gradient.any(), "what is bound stays as it is"


def test_negatives_depend_on_seed_rank_thread_and_step_alone(data):
    def drawn(seed, rank, steps, thread=0):
        objective = made(data, Sampled(LABELS, 25), place=Place(Compute(), seed, rank, thread))
        bound(objective)
        for step in range(steps):
            objective.gradient(objective.pick([step]))
        return [chosen.ids.tolist() for chosen in objective._layer.chosen]

    assert drawn(1, 0, 3) == drawn(1, 0, 3)
    assert len({tuple(map(tuple, drawn(*given, 2))) for given in ((1, 0), (1, 1), (2, 0))}) == 3
    assert drawn(1, 0, 3, thread=1) != drawn(1, 0, 3), "threads of a worker draw apart"


@pytest.mark.parametrize("output", ["random-active", "slide"])
def test_threads_of_a_worker_draw_uniform_labels_of_their_own(output):
    workload = XmlcMlp(labels=200, features=100, items=100, output=output, active=50)
    places = [Place(Compute(), 3, 2, thread) for thread in (0, 0, 1)]
    orders = [assembler_of(workload, 200, place)._order(0).tolist() for place in places]
    assert orders[0] == orders[1] != orders[2]


def test_the_number_of_gradients_is_restored(data):
    objective, other = made(data, Sampled(LABELS, 25)), made(data, Sampled(LABELS, 25))
    weights, gradient = bound(objective)
    bound(other)
    objective.gradient(objective.pick([0]))
    other.restore_local(objective.local_state())
    objective.gradient(objective.pick([1]))
    other.gradient(other.pick([1]))
    assert objective._layer.chosen[-1].ids.tolist() == other._layer.chosen[-1].ids.tolist()
    with pytest.raises(CheckpointError, match="another"):
        other.restore_local({"drawn": np.zeros(1), "slide.codes": np.zeros(0)})


def test_low_precision_is_near(data):
    objective, low = made(data, Full()), made(data, Full(), place=Place(Compute(precision="bf16")))
    (_, exact), (_, rounded) = bound(objective), bound(low)
    for each in (objective, low):
        each.gradient(each.pick(np.arange(20)))
    off = (exact - rounded).norm() / exact.norm()
    assert 1e-6 < off < 2e-2


def test_scores_are_in_the_precision_that_they_are_asked_in(data):
    """Whatever that of the gradients is: with bits of those who compute in it."""

    def scores(**how):
        objective = made(data, Full(), place=Place(Compute(precision=how["own"]), scoring=how.get("scoring")))
        weights, gradient = bound(objective)
        objective.gradient(objective.pick(np.arange(20)))
        return objective.evaluate(weights, 0, 30).loss_sum, gradient.numpy().tobytes()

    full, half = scores(own="fp32"), scores(own="bf16")
    assert full[0] == pytest.approx(half[0], rel=1e-2) and full[0] != half[0]
    assert scores(own="bf16", scoring="fp32") == (full[0], half[1])
    assert scores(own="fp32", scoring="bf16") == (half[0], full[1])


# -- sets of items, and hash tables ------------------------------------------------------------------------


def of_sets(data, sets):
    return ItemObjective(*data, HIDDEN, sets)


def assembler(cap, uniform=0, least=0):
    return Assembler(LABELS, cap, uniform, least, seed=1)


def hashed(cap, uniform):
    family = make_family("simhash", HIDDEN, 3, 8, 2)
    return family, Tables(family.tables, family.bits, seed=2), assembler(cap, uniform), RebuildSchedule(2, 0.0)


SETS = {
    "all labels": lambda: RandomSets(assembler(LABELS, LABELS)),
    "random": lambda: RandomSets(assembler(30, 0, 30)),
    "slide": lambda: SlideSets(*hashed(30, 10)),
}


@pytest.mark.parametrize("name", SETS)
def test_gradients_of_sets_of_items_are_those_of_automatic_differentiation(data, name):
    sets = Watched(SETS[name]())
    objective = of_sets(data, sets)
    weights, gradient = bound(objective)
    for start in (0, 40):
        bags = objective.pick(np.arange(start, start + 5))
        loss = objective.gradient(bags)
        leaves = [
            weights[p.start : p.stop].view(p.shape).double().clone().requires_grad_() for p in objective.layout
        ]
        losses = []
        for i, (features, values, labels) in enumerate(items(bags)):
            ids = sets.chosen[-1].of(i).tolist()
            assert set(labels) <= set(ids)
            assert len(set(ids)) == len(ids) <= (LABELS if name == "all labels" else 30)
            z = leaves[2][ids] @ hidden_of(leaves, features, values) + leaves[3][ids]
            losses.append(torch.logsumexp(z, 0) - z[[ids.index(label) for label in labels]].mean())
        expected = sum(losses) / len(losses)
        expected.backward()
        by = torch.cat([leaf.grad.flatten() for leaf in leaves])
        assert loss == pytest.approx(expected.item(), rel=1e-5)
        assert (gradient.double() - by).abs().max() < 1e-5 * by.abs().max()
        left = gradient.clone()
        objective.touched.clear(left)
        assert not left.any()


def test_sets_of_all_labels_give_the_gradient_of_the_whole_softmax(data):
    objective, whole = of_sets(data, RandomSets(assembler(LABELS, LABELS))), made(data, Full())
    (_, one), (_, other) = bound(objective), bound(whole)
    for each in (objective, whole):
        each.gradient(each.pick(np.arange(8)))
    assert (one - other).abs().max() < 1e-5 * other.abs().max()


@pytest.mark.parametrize("kind", ["batch", "item"])
def test_hash_tables_of_a_resumed_run_are_those_of_an_undisturbed_one(data, kind):
    """Also between two rebuilds, when the tables are those of earlier weights."""

    def start():
        if kind == "batch":
            return made(data, Slide(*hashed(30, 10)))
        return of_sets(data, Watched(SlideSets(*hashed(30, 10))))

    def steps(objective, weights, gradient, numbers):
        for step in numbers:
            objective.gradient(objective.pick([step, step + 1]))
            weights.sub_(gradient, alpha=2.0)

    undisturbed, halves = start(), start()
    (weights, gradient), (half, slope) = bound(undisturbed), bound(halves)
    steps(undisturbed, weights, gradient, range(7))
    steps(halves, half, slope, range(3))
    resumed = start()
    resumed.restore_local(halves.local_state())
    slope = resumed.allocate()
    resumed.bind(half, slope)
    steps(resumed, half, slope, range(3, 7))
    assert half.numpy().tobytes() == weights.numpy().tobytes()


def test_retrieved_labels_have_larger_outputs_than_random_ones(data):
    """Recall of the 5 labels with the largest outputs, in an active set; W2 has rows in clusters."""
    random = np.random.default_rng(2)
    centers = random.normal(size=(12, HIDDEN))
    rows = (centers[np.arange(600) % 12] + 0.2 * random.normal(size=(600, HIDDEN))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)  # hashes see directions only
    hidden = (centers[:4] + 0.1 * random.normal(size=(4, HIDDEN))).astype(np.float32)
    family = make_family("simhash", HIDDEN, 5, 30, 2)
    slide = Slide(
        family, Tables(30, family.bits, seed=2), Assembler(600, 200, 20, seed=1), RebuildSchedule(50, 0.1)
    )
    chosen = slide.choose(np.array([1]), torch.from_numpy(hidden), torch.from_numpy(rows), random).ids.numpy()
    best = np.argsort(-(hidden @ rows.T), axis=1)[:, :5]
    assert np.isin(best, chosen).mean() > 2 * len(chosen) / 600
