"""The network with a wide output layer at its edges: items without features, small sets, many ties."""

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import ALONE, Place
from hooke.errors import LaunchError
from hooke.hashing.active import Assembler
from hooke.hashing.families import make_family
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.objective.active_labels import Full
from hooke.objective.bags import Bags, Csr, Subset, starts_of
from hooke.objective.planted import Planted
from hooke.objective.slide import Slide
from hooke.objective.wide import WideObjective
from hooke.objective.wide_building import layer_of, objective_of
from hooke.spec.specification import Compute
from hooke.workloads.xmlc_mlp import XmlcMlp

from tests.engine.objective.test_wide import LABELS, LAYERS, bound, hidden_of, items, made, truth


def test_an_item_with_more_labels_than_its_set_takes_is_found_before_the_run():
    workload = XmlcMlp(labels=200, features=100, items=100, output="random-active", sets="item", active=1)
    with pytest.raises(LaunchError, match=r"an item has \d labels, .* active set of 1: raise `active`"):
        workload.build()


@pytest.mark.parametrize("output", ["full", "sampled", "random-active", "in-batch", "slide"])
@pytest.mark.parametrize("sets", ["batch", "item"])
def test_items_without_features_are_items(output, sets):
    """All hidden units are then those of the bias alone; the gradient has no row of W1."""
    workload = XmlcMlp(labels=60, features=90, items=100, output=output, sets=sets, active=30, hidden=7)
    objective = workload.build()
    weights, gradient = bound(objective)
    whole = objective.pick(np.arange(6))
    starts = np.zeros(7, np.int64)
    none = Bags(Csr(starts, np.zeros(0, np.int32), np.zeros(0, np.float32)), whole.labels, 90, 60)
    mixed = Bags(
        Csr(
            whole.features.starts.clip(max=whole.features.starts[3]),
            whole.features.ids[: whole.features.starts[3]],
            whole.features.values[: whole.features.starts[3]],
        ),
        whole.labels,
        90,
        60,
    )
    for batch in (none, mixed):
        assert np.isfinite(objective.gradient(batch))
        rows = objective.touched.slices[0].ids.tolist()
        assert rows == np.unique(batch.features.ids).tolist()
        found = gradient.clone()
        h = torch.stack([hidden_of([weights[p.start : p.stop].view(p.shape) for p in objective.layout], *item[:2])
                         for item in items(batch)])  # fmt: skip
        np.testing.assert_allclose(objective.hidden_units(batch), h, rtol=1e-5, atol=1e-6)
        for rows_of, part in zip(objective.touched, objective.layout, strict=True):
            told = found[part.start : part.stop].view(rows_of.count, -1)
            ids = range(rows_of.count) if rows_of.ids is None else rows_of.ids.tolist()
            others = np.setdiff1d(np.arange(rows_of.count), list(ids))
            assert not told[others].any()
    assert found[: 90 * 7].any(), "features of the first three items"


@pytest.mark.parametrize("labels", [1, 2, 40])
@pytest.mark.parametrize("output", ["full", "sampled", "random-active", "in-batch", "slide"])
def test_few_labels_and_weights_that_are_not_numbers(output, labels):
    """Of one label there is nothing to learn; a batch has more items than a set labels, or tables buckets."""
    random = np.random.default_rng(labels)
    features = Csr(np.arange(31), random.integers(0, 5, 30).astype(np.int32), np.ones(30, np.float32))
    bags = Bags(features, Csr(np.arange(31), random.integers(0, labels, 30).astype(np.int32)), 5, labels)
    asked = {"hidden": 3, "active": 4, "hashes": 1, "tables": 2, "uniform_share": 0.25}
    for sets in ("batch", "item"):
        objective = objective_of(XmlcMlp(output=output, sets=sets, **asked), (bags, bags, None), ALONE)
        weights, gradient = bound(objective)
        loss = objective.gradient(objective.pick(np.arange(12)))
        assert np.isfinite(loss) and bool(gradient.isfinite().all())
        assert (labels > 1) == bool(gradient.abs().max() > 1e-6) == (loss > 1e-6)
        weights[5 * 3 + 3 :] = torch.nan
        assert np.isnan(objective.gradient(objective.pick(np.arange(12))))


def test_log_uniform_negatives_follow_the_frequencies_whatever_the_ids_are():
    """Ids by name or by time are in no order of frequency; a label is drawn by its place in that order."""
    counts = np.array([2, 30, 4, 9, 9])
    labels = Csr(np.arange(55), np.repeat(np.arange(5), counts).astype(np.int32))
    features = Csr(np.arange(55), np.zeros(54, np.int32), np.ones(54, np.float32))
    settings = XmlcMlp(output="sampled", distribution="log-uniform", active=3)
    layer = layer_of(settings, Bags(features, labels, 1, 5), ALONE)
    share = np.log(np.arange(2, 7) / np.arange(1, 6)) / np.log(6)
    expected = 1 - (1 - share[[4, 0, 3, 1, 2]]) ** 3  # places of labels 0 to 4; equal ones by id
    np.testing.assert_allclose(layer.chance(np.arange(5)), expected, rtol=1e-12)
    random, seen, steps = np.random.default_rng(0), np.zeros(5), 2000
    for _ in range(steps):
        chosen = layer.choose(np.array([0]), None, None, random)
        seen[chosen.ids.numpy()[~chosen.own.numpy()]] += 1
    error = np.sqrt(expected * (1 - expected) / steps)
    assert (np.abs(seen / steps - expected) < 4 * error).all()
    falling = Bags(features, Csr(np.arange(55), np.repeat(np.arange(5), -np.sort(-counts)).astype(np.int32)), 1, 5)
    assert layer_of(settings, falling, ALONE)._order is None


@pytest.mark.parametrize("sets", ["batch", "item"])
def test_workers_share_hash_functions_and_draw_labels_of_their_own(sets):
    parts = *Planted(60, 90, 100, seed=3).parts(), None
    asked = XmlcMlp(output="slide", sets=sets, hidden=7, active=30)
    places = [Place(Compute(), seed, rank) for seed, rank in ((5, 0), (5, 1), (6, 0))]
    first, second, other = (objective_of(asked, parts, place).layer for place in places)
    vectors = np.random.default_rng(0).standard_normal((20, 7)).astype(np.float32)
    codes = [layer.family.codes(vectors).tolist() for layer in (first, second, other)]
    assert codes[0] == codes[1] != codes[2], "by the seed of the run alone"
    draws = [layer._assembler.draws(0).tolist() for layer in (first, second)]
    assert draws[0] != draws[1]


class Mapped(Subset):
    """A part that is larger than memory: some items at a time can be taken."""

    def take(self, at):
        assert len(at) <= 20
        return super().take(at)


def test_items_without_labels_are_left_out_and_no_others_are_copied():
    whole, _ = Planted(60, 90, 100, seed=3).parts()
    counts, bare = whole.label_counts.copy(), [3, 50]
    kept = ~np.isin(np.repeat(np.arange(100), counts), bare)
    counts[bare] = 0
    bags = Bags(whole.features, Csr(starts_of(counts), whole.labels.ids[kept]), 90, 60)
    with_labels = np.setdiff1d(np.arange(100), bare)
    parts = [Mapped(bags, np.arange(100)) for _ in range(2)], [bags.take(with_labels) for _ in range(2)]
    mapped, held = (WideObjective(*both, 7, Full(), validation_items=5) for both in parts)
    assert (mapped.train_size, mapped.validation_size, mapped.test_size) == (89, 5, 98)
    assert mapped.notes["training items without labels"] == "2 of 100, left out"
    assert items(mapped.pick(np.arange(20))) == items(held.pick(np.arange(20)))
    weights = held.initial(1)
    for part in ("validation", "test"):
        one, other = (each.evaluate(weights, 0, 5, part) for each in (mapped, held))
        assert one == other and mapped.further(one) == held.further(other)
    assert mapped._metrics._weights.tolist() == held._metrics._weights.tolist(), "frequencies of labels"


@pytest.mark.parametrize("picked", [[3], [3, 3, 3], [3, 5, 3, 5, 3]])
@pytest.mark.parametrize("name", LAYERS)
def test_items_that_occur_twice_in_a_batch_count_twice(name, picked):
    """Drawn with replacement, an item may; against float64 automatic differentiation, item by item."""
    objective = made(Planted(LABELS, 90, 400, seed=3).parts(), LAYERS[name]())
    weights, gradient = bound(objective)
    batch = objective.pick(picked)
    loss = objective.gradient(batch)
    expected, slope = truth(objective, weights, batch, objective._layer.chosen[-1])
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
def test_which_labels_are_retrieved_does_not_depend_on_their_numbers(policy):
    """All rows are equal, so that all labels are in one bucket of every table, and more than the cap takes."""
    family = make_family("simhash", 8, 2, 3, 0)
    slide = Slide(
        family, Tables(3, family.bits, 100, policy), Assembler(100, 30, 0, seed=1), RebuildSchedule(50, 0.1)
    )
    own, seen, steps = np.arange(10), np.zeros(100), 400
    for _ in range(steps):
        chosen = slide.choose(own, torch.ones(2, 8), torch.ones(100, 8), np.random.default_rng(0))
        assert 15 <= len(chosen.ids) <= 30
        seen[chosen.ids.numpy()] += 1
    assert (seen[own] == steps).all()
    assert seen[10:].min() / steps > 0.1
    assert seen[10:].max() / steps < 0.35
