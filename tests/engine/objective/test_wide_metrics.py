"""Further metrics of networks with a wide output layer, against counting item by item."""

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.hashing.active import Assembler
from hooke.hashing.families import make_family
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.loop.train import run_spec_virtual
from hooke.objective.active_labels import Full, RandomActive
from hooke.objective.bags import split_off
from hooke.objective.item_sets import ItemObjective, RandomSets, SlideSets
from hooke.objective.planted import Planted
from hooke.objective.slide import Slide
from hooke.objective.wide import WideObjective
from hooke.spec.events import Evaluation, Start
from hooke.spec.further import FurtherMetric, reported
from pydantic import ValidationError

LABELS, FEATURES, HIDDEN, SEED = 60, 90, 7, 5
RUN = {
    "schema": "hooke.run/1",
    "workload": {"name": "xmlc-mlp"},
    "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.5}},
    "batch": 4,
    "seed": SEED,
    "workers": 2,
    "budget": {"samples": 48},
    "evaluation": {"every": 24},
    "world": "virtual",
    "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
}


@pytest.fixture(scope="module")
def data():
    return Planted(LABELS, FEATURES, 400, seed=3).parts()


def slide(tables=4, hashes=3):
    family = make_family("simhash", HIDDEN, hashes, tables, 2)
    return Slide(family, Tables(tables, family.bits, LABELS), Assembler(LABELS, 40, 10), RebuildSchedule(2, 0.0))


def outputs(objective, weights, bags):
    """Return hidden units and outputs over all labels of every item, in float64."""
    w1, b1, w2, b2 = (weights[p.start : p.stop].view(p.shape).double() for p in objective.layout)
    dense = torch.zeros(len(bags), FEATURES, dtype=torch.float64)
    f = bags.features
    for i in range(len(bags)):
        dense[i, f.ids[f.starts[i] : f.starts[i + 1]]] = torch.from_numpy(
            f.values[f.starts[i] : f.starts[i + 1]].astype(np.float64)
        )
    hidden = torch.relu(dense @ w1 + b1)
    return hidden, hidden @ w2.T + b2


def labels_of(bags, i):
    return bags.labels.ids[bags.labels.starts[i] : bags.labels.starts[i + 1]].tolist()


def counted(objective, weights, bags, train):
    """Return P@k and PSP@k by the definitions, item by item; propensities by Jain et al., a = 0.55, b = 1.5."""
    _, z = outputs(objective, weights, bags)
    frequency = np.zeros(LABELS)
    for i in range(len(train)):
        frequency[labels_of(train, i)] += 1
    inverse = 1 + (np.log(len(train)) - 1) * 2.5**0.55 * (frequency + 1.5) ** -0.55
    found = {}
    for k in (1, 3, 5):
        hits, gained, possible = 0, 0.0, 0.0
        for i in range(len(bags)):
            best, own = z[i].argsort(descending=True)[:k].tolist(), labels_of(bags, i)
            hits += sum(label in own for label in best)
            gained += sum(inverse[label] for label in best if label in own)
            possible += sum(sorted((inverse[label] for label in own), reverse=True)[:k])
        found |= {f"p_at_{k}": hits / (k * len(bags)), f"psp_at_{k}": gained / possible}
    return found


def test_precisions_are_those_of_their_definitions(data):
    objective = WideObjective(*data, HIDDEN, Full())
    weights = objective.initial(SEED)
    score = objective.evaluate(weights, 0, objective.test_size, "test")
    expected = counted(objective, weights, data[1], data[0])
    assert score.correct / score.count == pytest.approx(expected.pop("p_at_1"))
    found = objective.further(score)
    assert found == pytest.approx(expected, rel=1e-6)
    assert {metric.name for metric in objective.further_metrics} == {*expected, "active_labels", "active_share"}


def test_recall_counts_the_best_labels_that_share_a_bucket(data):
    layer = slide(tables=3, hashes=4)
    objective = WideObjective(*data, HIDDEN, layer)
    weights, n = objective.initial(SEED), objective.validation_size
    assert "table_recall" not in objective.further(objective.evaluate(weights, 0, n)), "no tables yet"
    objective.bind(weights, objective.allocate())
    objective.gradient(objective.pick([0, 1, 2]))
    bags = split_off(data[0])[1].take(np.arange(n))
    hidden, z = outputs(objective, weights, bags)
    rows = objective._cut(weights)[2].numpy()
    of_rows, of_items = layer.family.codes(rows), layer.family.codes(hidden.float().numpy())
    shares = [
        (of_rows[label] == of_items[i]).any()
        for i in range(n)
        for label in z[i].argsort(descending=True)[:5].tolist()
    ]
    found = objective.further(objective.evaluate(weights, 0, n))
    assert 0.2 < np.mean(shares) < 0.95
    assert found["table_recall"] == pytest.approx(np.mean(shares), abs=2 / len(shares))  # rounded hidden units
    assert "table_recall" not in objective.further(objective.evaluate(weights, 0, n, "test"))


def test_figures_of_training_are_of_the_steps_since_the_last_call(data):
    layer = slide()
    objective = WideObjective(*data, HIDDEN, layer)
    objective.bind(objective.initial(SEED), objective.allocate())
    score = objective.evaluate(objective.initial(SEED), 0, 0)
    assert objective.further(score, objective.training_sums()) == {}
    for step in range(5):  # tables are built at steps 0, 2 and 4
        objective.gradient(objective.pick([step, step + 1]))
    found = objective.further(score, objective.training_sums())
    load = layer.tables.statistics()
    assert found["table_builds"] == 3 and found["table_seconds"] > 0
    assert (found["bucket_largest"], found["bucket_mean"]) == (load.most, pytest.approx(load.mean))
    assert found["table_stored"] == 1, "buckets hold all labels"
    assert 10 < found["active_labels"] <= 40
    assert found["active_share"] == pytest.approx(found["active_labels"] / LABELS)
    assert "active_labels" not in objective.further(score, objective.training_sums()), "no step since"


@pytest.mark.parametrize(("uniform", "some"), [(10, True), (38, False)])
def test_retrieved_labels_are_neither_of_the_batch_nor_drawn(data, uniform, some):
    """None, where the labels of a batch and the draw fill a set: it is larger than its cap then."""
    layer, draws = slide(), Assembler(LABELS, 40, uniform)
    layer._assembler = draws
    objective, retrieved, sizes = WideObjective(*data, HIDDEN, layer), [], []
    objective.bind(objective.initial(SEED), objective.allocate())
    for step in range(4):
        batch = objective.pick(np.arange(3 * step, 3 * step + 3))
        objective.gradient(batch)
        ids = set(objective.touched.slices[2].ids.tolist())
        sizes.append(len(ids))
        retrieved.append(len(ids - set(batch.labels.ids.tolist()) - set(draws.draws(step).ravel().tolist())))
    score = objective.evaluate(objective.initial(SEED), 0, 0)
    found = objective.further(score, objective.training_sums())
    assert found["retrieved_labels"] == pytest.approx(np.mean(retrieved))
    assert (min(retrieved) > 0, max(sizes) <= 40) == (some, some)
    assert "retrieved_labels" not in objective.further(score, objective.training_sums()), "no step since"


def test_retrieved_labels_of_sets_of_items_are_a_mean_over_items(data):
    family, draws = make_family("simhash", HIDDEN, 3, 4, 2), Assembler(LABELS, 30, 10)
    sets = SlideSets(family, Tables(4, family.bits, LABELS), draws, RebuildSchedule(2, 0.0))
    objective, chosen = ItemObjective(*data, HIDDEN, sets), []
    choose = sets.choose
    sets.choose = lambda *given: chosen.append(choose(*given)) or chosen[-1]
    objective.bind(objective.initial(SEED), objective.allocate())
    batch = objective.pick(np.arange(5))
    objective.gradient(batch)
    drawn = set(draws.draws(0).ravel().tolist())
    counts = [len(set(chosen[0].of(i).tolist()) - set(labels_of(batch, i)) - drawn) for i in range(5)]
    found = objective.further(objective.evaluate(objective.initial(SEED), 0, 0), objective.training_sums())
    assert found["retrieved_labels"] == pytest.approx(np.mean(counts)) and min(counts) > 0


def test_sets_of_items_have_a_mean_size(data):
    objective = ItemObjective(*data, HIDDEN, RandomSets(Assembler(LABELS, 20, 0, 20)))
    objective.bind(objective.initial(SEED), objective.allocate())
    objective.gradient(objective.pick([0, 1, 2, 3]))
    found = objective.further(objective.evaluate(objective.initial(SEED), 0, 0), objective.training_sums())
    assert found["active_labels"] == 20


@pytest.mark.parametrize("layer", [lambda: RandomActive(LABELS, 30), slide])
def test_ranks_record_the_figures_of_the_whole_part(data, layer, tmp_path):
    spec = validate_run(RUN)
    outcomes = run_spec_virtual(spec, tmp_path, lambda: WideObjective(*data, HIDDEN, layer()))
    objective = WideObjective(*data, HIDDEN, layer())
    whole = objective.evaluate(objective.initial(SEED), 0, objective.validation_size)
    lines = (tmp_path / "journal.0.jsonl").read_text().splitlines()
    declared = Start.model_validate_json(lines[0]).further_metrics
    found = [Evaluation.model_validate_json(line) for line in lines if '"kind":"evaluation"' in line]
    assert outcomes
    assert [metric.name for metric in declared] == [metric.name for metric in objective.further_metrics]
    assert found[0].further == pytest.approx(objective.further(whole), rel=1e-6)
    assert 10 < found[-1].further["active_labels"] <= 40
    names = {metric.name for metric in declared if not metric.measured}
    assert found[-1].further.keys() == names, "seconds of the machine say nothing in virtual time"
    assert '"test_further":{"p_at_3":' in lines[-1]


def test_records_of_other_workloads_do_not_mention_them():
    common = {"seq": 0, "step": 0, "samples": 0, "clock": 0, "wall": 0, "loss": 0, "accuracy": 0, "seconds": 0}
    record = Evaluation.model_validate(common | {"reached": False})
    assert "further" not in record.model_dump_json()


def test_what_has_no_value_is_left_out_and_names_are_free():
    declared = [FurtherMetric(name=name, title=name) for name in ("a", "b", "c")]
    measured = FurtherMetric(name="d", title="d", measured=True)
    values = {"b": np.inf, "d": 2.0, "a": 1.0, "other": 3.0}
    assert reported(values, [*declared, measured]) == {"a": 1.0, "d": 2.0}
    assert reported(values, [*declared, measured], simulated=True) == {"a": 1.0}
    for name in ("validation_p", "throughput", "bytes_sent", "P@3"):
        with pytest.raises(ValidationError):
            FurtherMetric(name=name, title="x")


def trained(data, ahead):
    """Return the gradients of six steps, what each has told of its build before, and the number of builds."""
    layer = slide()
    objective, gradients, due = WideObjective(*data, HIDDEN, layer), [], []
    weights, gradient = objective.initial(SEED), objective.allocate()
    objective.bind(weights, gradient)
    for step in range(6):  # tables are built at steps 0, 2 and 4
        due.append(objective.rebuild_bytes())
        if ahead:
            objective.rebuild()
            objective.rebuild()
            assert objective.rebuild_bytes() == 0
        objective.gradient(objective.pick([step, step + 1]))
        weights.sub_(gradient)
        gradients.append(gradient.clone())
    return gradients, due, layer.table_sums()[4], layer.tables.tables


def test_tables_that_are_built_ahead_are_not_built_again_by_the_gradient(data):
    (ahead, *others), (within, *same) = trained(data, ahead=True), trained(data, ahead=False)
    assert all(torch.equal(one, other) for one, other in zip(ahead, within, strict=True))
    due, builds, tables = others
    build = 4 * LABELS * HIDDEN + 4 * LABELS * tables
    assert due == [build, 0, build, 0, build, 0] and builds == 3
    assert others == same


def test_other_layers_have_no_tables_to_build(data):
    objective = WideObjective(*data, HIDDEN, Full())
    objective.rebuild()
    assert objective.rebuild_bytes() == 0
