"""Workers of kinds of their own in runs: threads on shared weights, their seconds, CPUs that are slowed down."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hooke.catalogue.algorithm import algorithm, ranks_of, slots_of
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.cli.document import load_run
from hooke.cli.outcome import relative_speeds, result, table
from hooke.errors import LaunchError, SpecError
from hooke.loop import replay
from hooke.loop.governor import SLICE, Governor
from hooke.loop.passes import Passes
from hooke.loop.state import RankState
from hooke.loop.train import run_spec_virtual
from hooke.spec.devices import DeviceGroup
from hooke.spec.events import StateReport
from hooke.spec.specification import canonical

NETWORK = {"latency": 1e-6, "compute_seconds_per_sample": 1e-3, "compute_jitter": 0, "memory_bandwidth": 1e15}
THREADS = {"kind": "hogwild-cpu", "threads": 4}


def document(name="hogbatch", devices=(), workers=2, steps=40, **changes):
    network = changes.pop("virtual", {})
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
        "algorithm": {"name": name, "parameters": {"lr": 0.05} | changes.pop("parameters", {})},
        "workers": workers,
        "world": "virtual",
        "virtual": NETWORK | ({"devices": list(devices)} if devices else {}) | network,
        "batch": 8,
        "budget": {"samples": 8 * steps},
        "evaluation": {"every": 8 * steps},
    } | changes


def bits(outcomes):
    return [outcome.weights.tobytes() for outcome in outcomes]


@pytest.mark.parametrize("name", ["hogbatch", "sync-sgd", "async-easgd"])
def test_one_thread_is_a_plain_worker_bit_for_bit(name):
    """Property 19, and the same seconds."""
    jitter = {"compute_jitter": 0.3}
    plain = run_spec_virtual(validate_run(document(name, virtual=jitter)))
    kinds = [{"kind": "hogwild-cpu", "threads": 1}, {"kind": "cpu"}]
    mine = run_spec_virtual(validate_run(document(name, kinds, virtual=jitter)))
    assert bits(mine) == bits(plain)
    assert [each.done.clock for each in mine] == [each.done.clock for each in plain]
    assert mine[0].done.lost_mass is None


def test_a_batch_takes_the_seconds_of_the_sub_batches_of_one_thread():
    """By hand: 8 items in 4 sub-batches on 4 threads take the time of 2 items; in 6 likewise."""
    done = run_spec_virtual(validate_run(document("sync-sgd", [THREADS, {"kind": "cpu"}])))
    assert [each.done.phases["compute"] for each in done] == pytest.approx([20 * 2e-3, 20 * 8e-3])
    six = THREADS | {"sub_batches": 6}  # 2, 2, 1, 1, 1, 1: the two threads with one item first take the others
    done = run_spec_virtual(validate_run(document("sync-sgd", [six, {"kind": "cpu", "speed": 0.5}])))
    assert [each.done.phases["compute"] for each in done] == pytest.approx([20 * 2e-3, 20 * 16e-3])


@pytest.mark.parametrize("steps", [1, 3])
def test_jitter_that_is_common_to_all_workers_is_common_to_one_with_threads(steps):
    """It lasts for gradients, of which a worker with threads has as many as another one."""
    slow = {"jitter_common": 0.7, "jitter_steps": steps}
    done = run_spec_virtual(validate_run(document("sync-sgd", [THREADS, {"kind": "cpu"}], virtual=slow)))
    threads, plain = (each.done.phases["compute"] for each in done)
    assert threads == pytest.approx(plain / 4)
    assert plain != pytest.approx(20 * 8e-3)


def test_lost_updates_of_threads_are_reported_by_the_run_and_do_not_depend_on_its_repetition():
    slow = {"memory_bandwidth": 1e6, "compute_jitter": 0.01}
    spec = validate_run(document("sync-sgd", [THREADS, {"kind": "cpu"}], virtual=slow))
    mine, again = run_spec_virtual(spec), run_spec_virtual(spec)
    assert bits(mine) == bits(again)
    assert 0.02 < mine[0].done.lost_mass < 0.8
    assert mine[1].done.lost_mass is None
    quick = validate_run(document("sync-sgd", [THREADS, {"kind": "cpu"}], virtual={"compute_jitter": 0.01}))
    assert run_spec_virtual(quick)[0].done.lost_mass == pytest.approx(0, abs=1e-6)


def test_a_run_with_threads_goes_on_bit_for_bit(tmp_path):
    changes = {"checkpoint": "always", "checkpoint_every": 8 * 20}
    spec = validate_run(
        document("sync-sgd", [THREADS, {"kind": "cpu"}], virtual={"memory_bandwidth": 1e6}, **changes)
    )
    whole = run_spec_virtual(spec, tmp_path)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert int(places[0].name) < 8 * 40
    (places[-1] / "complete.json").unlink()
    assert bits(run_spec_virtual(spec, tmp_path, resume=True)) == bits(whole)


def test_speeds_are_measured_by_batches_per_second_of_computing():
    kinds = [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.25}]
    spec = validate_run(document("weighted-sync-sgd", kinds, parameters={"sizes": [3, 1]}))
    done = {rank: each.done for rank, each in enumerate(run_spec_virtual(spec))}
    assert relative_speeds(spec, done) == pytest.approx([1, 0.25])
    assert relative_speeds(spec, {0: done[0]}) == [1, None]
    assert relative_speeds(validate_run(document()), done) == []
    found = result(spec, StateReport(state="succeeded", unix=0, why=""), {}, done, [])
    fast, slow = found["computing"]
    assert fast / slow == pytest.approx(3 / 4), "three batches, in the time of one that takes four times as long"
    assert 0.5 < slow <= 1 and found["kinds"] == ["cpu", "cpu@0.25"]
    told = " ".join(table(found).split())
    assert "kinds worker 0, 1, ...: cpu, cpu@0.25 speeds" in told and "computing worker 0, 1, ...: " in told


def test_slots_are_threads_and_both_worlds_have_the_kinds():
    kinds = [THREADS, {"kind": "cpu", "count": 2}]
    real = load_run(document(devices=kinds, workers=3), world="mpi")
    assert (real.virtual, len(real.groups)) == (None, 2)
    assert (ranks_of(real), slots_of(real)) == (4, 7)
    assert [real.group(rank) and real.group(rank).kind for rank in range(4)] == ["hogwild-cpu", "cpu", "cpu", None]
    back = load_run(real.model_dump(mode="json", by_alias=True), world="virtual")
    assert back.virtual.devices == real.groups and back.shares_weights


def experiment(name="hogbatch", parameters=None, variants=None, tuning=None, **cluster):
    return validate_experiment(
        {
            "name": "kinds",
            "workload": {"name": "digits-mlp"},
            "batch": 8,
            "variants": variants or [{"name": "a", "algorithm": name, "parameters": parameters or {}}],
            "baseline": "a",
            "tuning": tuning,
            "budget": {"samples": 1000},
            "evaluation": {"every": 500},
            "clusters": [{"name": "local"} | cluster],
        }
    )


def test_workers_of_a_real_cluster_may_be_written_as_kinds():
    (cluster,) = experiment(workers=[THREADS, {"kind": "cpu", "count": 2, "speed": 0.5}]).clusters
    assert cluster.workers == [3]
    assert [(each.kind, each.count, each.threads, each.speed) for each in cluster.groups] == [
        ("hogwild-cpu", 1, 4, 1.0),
        ("cpu", 2, 1, 0.5),
    ]
    (plain,) = experiment(workers=[3]).clusters
    assert "groups" not in canonical(plain), "documents without groups keep their fingerprint"


def test_defaults_of_a_method_count_as_if_they_were_written_out():
    """Its rate, and its optimizer: DiLoCo's is AdamW."""
    short = document("sync-sgd", [THREADS, {"kind": "cpu"}])
    del short["algorithm"]["parameters"]
    rate = algorithm("sync-sgd")().lr
    whole = short | {"algorithm": {"name": "sync-sgd", "parameters": {"lr": rate}}}
    assert bits(run_spec_virtual(validate_run(short))) == bits(run_spec_virtual(validate_run(whole)))
    with pytest.raises(SpecError, match="adamw"):
        validate_run(document("diloco", [THREADS, {"kind": "cpu"}]))


def test_optimizers_that_are_searched_are_those_of_threads():
    def searched(*choices):
        variant = {"name": "a", "algorithm": "local-sgd", "search": {"optimizer": {"choices": list(choices)}}}
        return experiment(variants=[variant], tuning={"trials": 2}, workers=[THREADS])

    assert searched("sgd").tuning.trials == 2
    with pytest.raises(SpecError, match="adamw"):
        searched("sgd", "adamw")


@pytest.mark.parametrize(
    ("changes", "pointer", "why"),
    [
        ({"world": "mpi"}, "/virtual", "world: virtual"),
        ({"groups": [{"kind": "cpu", "count": 2}]}, "/groups", "virtual.devices"),
        ({"world": "mpi", "virtual": None, "groups": [{"kind": "cpu"}]}, "/groups", "of 1 workers"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(changes, pointer, why):
    with pytest.raises(SpecError) as refused:
        validate_run(document() | changes)
    (fault,) = refused.value.faults
    assert (fault.pointer, why in fault.message) == (pointer, True)


@pytest.mark.parametrize(
    ("cluster", "method", "why"),
    [
        ({"workers": [{"kind": "v100"}]}, {}, "simulated"),
        ({"workers": [{"kind": "cpu", "speed": 2}]}, {}, "at most 1"),
        ({"workers": [{"kind": "cpu", "changes": [{"at": 1, "speed": 2}]}]}, {}, "after a change"),
        (
            {"workers": [{"kind": "cpu", "changes": [{"at": 2, "speed": 1}, {"at": 1, "speed": 1}]}]},
            {},
            "in the order of their beginnings",
        ),
        ({"workers": [{"kind": "hogwild-cpu", "threads": 9}]}, {}, "no 9 sub-batches"),
        ({"workers": [THREADS], "computed_on": "x", "virtual": {"devices": [{"kind": "cuda"}]}}, {}, "cuda"),
        ({"workers": [{"kind": "cuda"}], "computed_on": "x", "virtual": {}}, {}, "no virtual device cuda"),
        ({"workers": [{"kind": "cpu", "threads": 2}], "computed_on": "x", "virtual": {}}, {}, "not simulated"),
        ({"workers": [{"kind": "k80", "threads": 2}], "computed_on": "x", "virtual": {}}, {}, "no `threads`"),
        ({"workers": [{"kind": "cpu", "sub_batches": 2}]}, {}, "no `sub_batches`"),
        ({"workers": [2], "groups": [{"kind": "cpu"}]}, {}, "of 1 workers"),
        ({"workers": [THREADS]}, {"name": "local-sgd", "parameters": {"optimizer": "adamw"}}, "adamw"),
        ({"workers": [THREADS]}, {"name": "onebit-adam"}, "in onebit-adam is the length of other steps"),
        ({"workers": [THREADS]}, {"name": "demo"}, "in demo is the length of other steps"),
    ],
)
def test_what_does_not_fit_is_refused(cluster, method, why):
    with pytest.raises(SpecError) as refused:
        experiment(**method, **cluster)
    assert why in " ".join(fault.message for fault in refused.value.faults)


@pytest.mark.parametrize("virtual", [{}, {"computed_on": "x", "virtual": {}}])
def test_what_is_wrong_with_a_group_is_told_where_it_is_written(virtual):
    """A group of no worker was told at a place that the document does not have."""
    with pytest.raises(SpecError) as refused:
        experiment(workers=[{"kind": "cpu"}, {"kind": "cpu", "count": 0}], **virtual)
    (fault,) = refused.value.faults
    assert (fault.pointer, "equal to 1" in fault.message) == ("/clusters/0/workers/1/count", True)


def test_a_run_of_threads_has_no_order_to_replay(tmp_path):
    real = load_run(document(devices=[THREADS, {"kind": "cpu"}]), world="mpi")
    (tmp_path / "spec.json").write_text(canonical(real))
    with pytest.raises(LaunchError, match="no order"):
        replay.read_order(tmp_path)
    slowed = load_run(document(devices=[{"kind": "cpu", "speed": 0.5}, {"kind": "cpu"}]), world="mpi")
    assert replay.same_run(slowed, slowed)
    assert [each.speed for each in replay.twin(slowed).virtual.devices] == [1, 1]


def test_what_was_simulated_names_the_real_run_with_its_speeds_for_a_replay():
    """As `hooke run FILE --world mpi`, then `hooke run FILE --replay FOLDER`."""
    file = document("async-sgd", virtual={"speeds": [1, 0.5]})
    real = load_run(file, world="mpi")
    assert [group.speed for group in real.groups] == [1, 0.5]
    assert replay.same_run(load_run(file), real)
    narrow = document("async-sgd", [{"kind": "cpu", "count": 2, "precision": "bf16"}])
    assert replay.same_run(load_run(narrow), load_run(narrow, world="mpi"))
    assert not replay.same_run(load_run(narrow), real)
    assert not replay.same_run(load_run(document("async-sgd", [THREADS, {"kind": "cpu"}])), real)


def test_a_governor_sleeps_in_proportion_and_takes_off_what_a_sleep_took_too_long():
    now, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds + (0.2 if len(slept) == 1 else 0.0)

    governor = Governor(0.25, lambda: now[0], sleep)
    assert governor.achieved is None
    for seconds in (1.0, 0.01, 2.0):
        with governor.pace():
            now[0] += seconds
    assert slept == pytest.approx([3.0, 6.0 - 0.2 + 0.03]), "after the second gradient it still has slept too long"
    assert governor.achieved == pytest.approx(0.25)


def test_a_governor_follows_changes_and_stragglers():
    """By hand: a second of work each, at 0.5, in the middle of a drift to 0.25, at 0.25, and ten times as long."""
    now, slept, slow = [0.0], [], iter((False, False, False, True))
    changes = [{"at": 10, "over": 10, "speed": 0.5}]
    group = DeviceGroup(kind="cpu", speed=0.5, changes=changes, straggling=0.1)
    governor = Governor.of(group, lambda: now[0], lambda chance: next(slow))
    governor._clock, governor._sleep = lambda: now[0], slept.append
    for at in (0, 15, 30, 40):
        now[0] = at
        with governor.pace():
            now[0] += 1
        governor.slept = sum(slept)
    assert slept == pytest.approx([1 / 0.5 - 1, 1 / (0.5 * 0.75) - 1, 1 / 0.25 - 1, 10 / 0.25 - 1])
    even = DeviceGroup(kind="cpu"), None
    assert [Governor.of(each, time.monotonic, bool) for each in even] == [None, None]
    assert Governor.of(DeviceGroup(kind="cpu", straggling=0.1), time.monotonic, bool) is not None


def test_a_sleep_of_hours_ends_with_the_run():
    """Of a straggler, or a worker slower by a million, when the run is cancelled; after it nothing is slept.

    While all ranks agree on the end a rank takes further steps, many of them beside a slow other one.
    """
    now, slept, asked = [0.0], [], iter((False, False, False, True, True, True))
    governor = Governor.of(DeviceGroup(kind="cpu", speed=1e-6), lambda: now[0], bool, lambda: next(asked))

    def sleep(seconds):
        now[0] += seconds
        slept.append(seconds)

    governor._clock, governor._sleep = lambda: now[0], sleep
    for _ in range(3):
        with governor.pace():
            now[0] += 0.01
    assert slept == [SLICE] * 2 and next(asked, None) is None, "three looks at the first sleep, no other sleep"
    assert governor.slept == pytest.approx(sum(slept))
    assert governor.worked == pytest.approx(0.01), "the first one's seconds"


@pytest.mark.parametrize("independent", [False, True])
def test_every_gradient_of_a_slowed_worker_is_paced(independent):
    paced = []

    class Pace:
        @contextmanager
        def pace(self):
            yield
            paced.append(len(computed))

    computed = []
    rank = SimpleNamespace(
        objective=SimpleNamespace(
            pick=list,
            reads_ahead=False,
            independent=independent,
            gradient=lambda batch: computed.append(batch) or 1.5,
        ),
        batches=SimpleNamespace(next=lambda: (3, 4)),
        passes=Passes("cpu"),
        ledger=SimpleNamespace(enter=lambda phase: None),
        spec=SimpleNamespace(virtual=None),
        comm=SimpleNamespace(alongside=lambda work: work()),
        governor=Pace(),
    )
    assert [RankState._next_gradient(rank) for _ in range(2)] == [1.5, 1.5]
    assert (computed, paced) == ([[3, 4], [3, 4]], [1, 2])
