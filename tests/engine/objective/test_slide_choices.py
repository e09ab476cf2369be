"""What `slide` takes from its buckets, and which rows a rebuild hashes, against plain Python."""

from itertools import product

import numpy as np
import pytest
import torch
from hooke.hashing.active import Assembler
from hooke.hashing.changed import sums_of
from hooke.hashing.families import make_family
from hooke.hashing.lists import Lists
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.sizes import BITS
from hooke.hashing.tables import Tables
from hooke.hashing.threads import Threads
from hooke.objective.item_sets import SlideSets
from hooke.objective.slide import Slide
from hooke.workloads.xmlc_mlp import XmlcMlp
from pydantic import ValidationError

LABELS, HIDDEN, ITEMS, TABLES = 400, 16, 6, 7
NEVER = RebuildSchedule(10**6, 0.0)


def made(kind, strategy, room, times=3):
    """Return a layer without uniform labels, hidden units, rows, and which tables have each label of an item."""
    random = np.random.default_rng(4)
    family = make_family("simhash", HIDDEN, 3, TABLES, 2)
    layer = kind(family, Tables(TABLES, family.bits, LABELS), Assembler(LABELS, room, 0), NEVER)
    layer.strategy, layer.times = strategy, times
    hidden = np.abs(random.normal(size=(ITEMS, HIDDEN))).astype(np.float32)
    rows = random.normal(size=(LABELS, HIDDEN)).astype(np.float32)
    same = family.codes(rows)[None] == family.codes(hidden)[:, None]  # (items, labels, tables), without any table
    return layer, hidden, torch.from_numpy(rows), same


def fits(strategy, chosen, same, limit, times=3):
    """Verify what one item has retrieved; `same` (labels, tables): where it has the code of a label."""
    hits = same.sum(1)
    found, count = hits[sorted(chosen)], min(limit, int((hits > 0).sum()))
    if strategy == "threshold":
        frequent = np.sort(hits[hits >= times])[::-1][:limit]
        assert np.sort(found)[::-1].tolist() == frequent.tolist()
    elif strategy == "top-k":
        assert np.sort(found)[::-1].tolist() == np.sort(hits)[::-1][:count].tolist()
    else:
        assert len(chosen) == count and (found > 0).all()
    if strategy == "vanilla":  # whole buckets, and a part of the one that was read last
        whole = [t for t in range(TABLES) if set(np.flatnonzero(same[:, t])) <= chosen]
        left = chosen - {int(i) for t in whole for i in np.flatnonzero(same[:, t])}
        assert any(left <= set(np.flatnonzero(same[:, t])) for t in range(TABLES))


@pytest.mark.parametrize("limit", [40, LABELS])
@pytest.mark.parametrize("strategy", ["union", "vanilla", "top-k", "threshold"])
def test_every_item_has_what_its_strategy_takes(strategy, limit):
    layer, hidden, rows, same = made(SlideSets, strategy, limit)
    none = Lists(np.zeros(ITEMS + 1, np.int64), np.zeros(0, np.int32))
    sets = layer.choose(none, hidden, rows)
    for i in range(ITEMS):
        chosen = sets.of(i).tolist()
        assert len(set(chosen)) == len(chosen)
        fits(strategy, set(chosen), same[i], limit)


@pytest.mark.parametrize("strategy", ["union", "vanilla", "top-k", "threshold"])
def test_a_batch_has_the_shares_of_its_items(strategy):
    share = 9
    layer, hidden, rows, same = made(Slide, strategy, share * ITEMS)
    chosen = layer.choose(np.zeros(0, np.int64), torch.from_numpy(hidden), rows, None).ids.tolist()
    found = layer.tables.query(layer.family.codes(hidden), strategy, share, 3)
    each = [set(found.of(i).tolist()) for i in range(ITEMS)]
    for i, own in enumerate(each):
        fits(strategy, own, same[i], share)
    assert set(chosen) == set().union(*each)


@pytest.mark.parametrize(("sets", "usual"), [("batch", "top-k"), ("item", "union")])
def test_the_workload_passes_what_it_is_told(sets, usual):
    small = {
        "labels": 60,
        "features": 40,
        "items": 100,
        "hidden": 8,
        "output": "slide",
        "sets": sets,
        "active": 30,
    }
    assert XmlcMlp(**small).build().layer.strategy == usual
    layer = XmlcMlp(**small, sampling="threshold", threshold=3, rebuild="touched").build().layer
    assert (layer.strategy, layer.times, layer.changed_only) == ("threshold", 3, True)
    with pytest.raises(ValidationError, match="no label is in 60 of 50 tables"):
        XmlcMlp(**small, sampling="threshold", threshold=60)


def test_groups_of_items_ask_for_a_batch_alone():
    """For sets of items `queries` was read and did nothing."""
    with pytest.raises(ValidationError, match="8 groups of items cannot ask .* choose `sets: batch`"):
        XmlcMlp(output="slide", sets="item", queries=8)
    assert XmlcMlp(output="slide", queries=8).queries == 8
    assert XmlcMlp(output="random-active", sets="item", queries=8).queries == 8, "no tables: without effect"


@pytest.mark.parametrize("sets", ["batch", "item"])
@pytest.mark.parametrize("family", sorted(BITS))
def test_every_choice_goes_with_every_other(family, sets):
    """What tables alone have given has the codes of an item, by the functions themselves; buckets are full."""
    asked = {"labels": 60, "features": 40, "items": 100, "hidden": 8, "output": "slide", "active": 30, "tables": 6}
    asked |= {"hashes": 4 if BITS[family] == 1 else 1, "bucket": 3, "uniform_share": 0.3, "first_rebuild": 1}
    for sampling, policy, rebuild in product(
        ("union", "vanilla", "top-k", "threshold"), ("fifo", "reservoir"), ("all", "touched")
    ):
        own = {"sampling": sampling, "bucket_policy": policy, "rebuild": rebuild}
        objective, given = XmlcMlp(**asked, **own, hash_family=family, sets=sets).build(), 0
        objective.bind(objective.initial(3), objective.allocate())
        layer, batch = objective.layer, objective.pick(np.arange(4))
        rows, units = map(layer.family.codes, (objective.rows.numpy(), objective.hidden_units(batch).numpy()))
        tables = (rows[None] == units[:, None]).sum(2).max(0)  # most tables in which a label meets an item
        for step in range(2):  # the second one rebuilds tables of the same rows
            assert np.isfinite(objective.gradient(batch))
            ids = set(objective.touched.slices[2].ids.tolist())
            fixed = {*batch.labels.ids.tolist(), *layer._assembler.draws(step).ravel().tolist()}
            assert fixed <= ids and len(ids) <= 30 * (1 if sets == "batch" else 4)
            assert (tables[sorted(ids - fixed)] >= (2 if sampling == "threshold" else 1)).all()
            given += len(ids - fixed)
        assert given or sampling == "threshold", own
        assert layer.tables.statistics().most == 3 and layer.tables.statistics().dropped > 0


# -- rebuilds ----------------------------------------------------------------------------------------------


def buckets(tables):
    return [tables.bucket(t, c).tolist() for t in range(tables.tables) for c in range(2**tables.bits)]


def layers(policy, capacity, family="dwta"):
    """Return two layers with equal tables: one that hashes all rows, and one that hashes those that changed."""
    functions = make_family(family, HIDDEN, 2, 5, 3)
    found = []
    for changed_only in (False, True):
        tables = Tables(5, functions.bits, capacity, policy, seed=3)
        layer = Slide(functions, tables, Assembler(LABELS, 50, 10), RebuildSchedule(1, 0.0))
        layer.changed_only = changed_only
        found.append(layer)
    return found


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("policy", "capacity"), [("fifo", 5), ("reservoir", 5), ("reservoir", LABELS)])
def test_tables_of_changed_rows_are_those_of_all_rows(policy, capacity, narrow):
    """Whoever has changed them: here nobody says which rows those are. Full buckets have the same labels, too."""
    whole, changed = layers(policy, capacity)
    random = np.random.default_rng(1)
    weights = torch.from_numpy(random.normal(size=(LABELS, HIDDEN)).astype(np.float32))
    weights = weights.bfloat16() if narrow else weights
    for turn, count in enumerate((0, 30, 0, LABELS, 1)):
        rows = torch.from_numpy(random.permutation(LABELS)[:count].copy())
        weights[rows] = torch.from_numpy(random.normal(size=(count, HIDDEN)).astype(np.float32)).to(weights.dtype)
        for layer in (whole, changed):
            layer.rebuild(weights)
        assert buckets(whole.tables) == buckets(changed.tables), turn
    hashed = (LABELS + 30 + LABELS + 1) / (5 * LABELS)
    assert (whole.table_sums()[-1], changed.table_sums()[-1]) == (1.0, pytest.approx(hashed))
    assert changed.table_sums()[4] == 5 and changed.table_sums()[5] > 0


def test_a_bucket_that_fills_up_later_has_the_sample_of_a_whole_rebuild():
    """A sample is a function of how many rebuilds there were, also of those that had nothing to do."""
    whole, changed = layers("reservoir", 100)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(LABELS, HIDDEN)).astype(np.float32))
    for turn in range(3):
        weights[: 300 * (turn == 2)] = weights[0].clone()
        for layer in (whole, changed):
            layer.rebuild(weights)
        assert (whole.tables.statistics().dropped > 0) == (turn == 2)
    assert buckets(whole.tables) == buckets(changed.tables)


@pytest.mark.parametrize("sets", ["batch", "item"])
@pytest.mark.parametrize("weights", ["fp32", "bf16"])
def test_training_is_the_same_and_so_is_a_resumed_run(sets, weights):
    asked = {
        "labels": 80,
        "features": 40,
        "items": 200,
        "hidden": 8,
        "output": "slide",
        "sets": sets,
        "active": 30,
    }
    asked |= {"weights": weights, "first_rebuild": 2, "rebuild_growth": 0.0, "bucket": 4}

    def start(**more):
        return XmlcMlp(**asked, **more).build()

    def steps(objective, vector, numbers):
        slope = objective.allocate() if weights == "fp32" else torch.zeros(objective.layout[-1].stop)
        objective.bind(vector, slope)
        for step in numbers:
            objective.gradient(objective.pick([step, step + 1]))
            vector.sub_(slope, alpha=2.0)

    results = []
    for more in ({}, {"rebuild": "touched"}):
        objective = start(**more)
        vector = objective.initial(5)
        steps(objective, vector, range(7))
        results.append((vector.float().numpy().tobytes(), buckets(objective.layer.tables)))
    halves, vector = start(rebuild="touched"), objective.initial(5)
    steps(halves, vector, range(3))
    resumed = start(rebuild="touched")
    resumed.restore_local(halves.local_state())
    steps(resumed, vector, range(3, 7))
    results.append((vector.float().numpy().tobytes(), buckets(resumed.layer.tables)))
    assert results[0] == results[1] == results[2]
    assert 0 < resumed.layer.table_sums()[-1] < 1, "a resumed run knows which rows its tables are of"


def test_sums_tell_a_change_of_any_bit():
    random = np.random.default_rng(0)
    for kind in (np.uint16, np.uint32):
        words = random.integers(0, np.iinfo(kind).max, (64, 5), kind)
        for bit in range(words.dtype.itemsize * 8):
            for column in range(5):
                other = words.copy()
                other[7, column] ^= kind(1 << bit)
                assert np.flatnonzero(sums_of(words) != sums_of(other)).tolist() == [7]
    many = random.integers(0, 2**32, (1100, 5), np.uint32)
    assert np.array_equal(sums_of(many, Threads(3)), sums_of(many)), "ranges of 256 rows"
    swapped = words[:, [1, 0, 2, 3, 4]]
    assert (sums_of(words) != sums_of(swapped)).all(), "columns are told apart"
