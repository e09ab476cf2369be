"""Exchanges of touched rows by methods with a center: limits, an independent rule, bytes by hand, restarts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hooke.catalogue.algorithm import catalogue
from hooke.comm.base import Slice
from hooke.comm.row_versions import RowVersions
from hooke.comm.touched import Rows, Touched, front, packed
from hooke.comm.union import agreed, all_rows, hear, tell
from hooke.comm.virtual.communicator import run_virtual

from tests.engine.loop.row_rules import ROWS, SIZE, WIDTHS, elements, in_turn, joined, rows_of, together
from tests.engine.loop.setup import BATCH, Setup, play_virtual
from tests.engine.loop.setups import ONE_HOST, PERIODIC, PULL, SETUPS, TOUCHED

LR = 0.05
A = 6.0 * LR
WHOLE = (("communication", {"rows": "all"}),)


@pytest.fixture
def attempts(tmp_path):
    """Return a function that plays a setup in the virtual world: for each rank, the report of each attempt."""
    return lambda setup: play_virtual(setup, tmp_path / str(len(list(tmp_path.iterdir()))))


@pytest.fixture
def played_alone(attempts):
    """Return a function that plays a setup in the virtual world: what every rank reports."""
    return lambda setup: [reports[0] for reports in attempts(setup)]


def exchanging(reports, setup):
    """The rule's result for a setup in which all exchange together."""
    workers = reports[: setup.workers]
    period = dict(setup.parameters).get("period", 1)
    return together(workers[0].start, [report.items for report in workers], LR, A, period)


def near(value, expected):
    np.testing.assert_allclose(value, expected, rtol=2e-5, atol=2e-6)


# -- the rule, in both worlds ------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["virtual", "mpi"])
@pytest.mark.parametrize("name", ["rows, together", "rows, behind", "rows, on the host"])
def test_rows_that_some_worker_has_moved_are_pulled(played, name, world):
    found = played(name, world)
    rule = exchanging(found.first, found.setup)
    for report, x in zip(found.first, rule.xs, strict=False):
        near(report.weights, x)
    near(found.first[0 if found.first[0].center is not None else -1].center, rule.c)
    partly = [elements(joined(moved)).mean() for moved in rule.moved[1:]]
    assert min(partly) < 0.9, "some exchanges leave rows out"


@pytest.mark.parametrize("name", ["rows, together", "rows, on the host"])
def test_the_rule_is_not_that_of_whole_vectors(played, played_alone, name):
    """A row that nobody has moved keeps its difference to the center."""
    whole = played_alone(replace(SETUPS[name], changes=WHOLE))
    assert np.abs(whole[0].weights - played(name, "virtual").first[0].weights).max() > 0.01


def test_the_momentum_of_a_center_moves_other_rows_on(played_alone):
    parameters = (("alpha", A), ("beta", None), ("center_momentum", 0.4), ("period", 2))
    reports = played_alone(Setup("sma", parameters, steps=60, every=60, rows="some", changes=TOUCHED))
    rule = together(reports[0].start, [report.items for report in reports], LR, A, 2, 0.4)
    for report, x in zip(reports, rule.xs, strict=True):
        near(report.weights, x)
        near(report.center, rule.c)


@pytest.mark.parametrize("overlap", [False, True])
def test_chips_pull_rows_that_some_part_has_moved(played_alone, overlap):
    parameters = (*PULL, ("parts", 2), ("period", 2), ("overlap", overlap))
    setup = Setup("chip-easgd", parameters, 4, steps=80, every=80, rows="some", changes=TOUCHED)
    less, reports = saved(played_alone, setup)
    rule = together(reports[0].start, [report.items for report in reports], LR, A, 2, parts=2)
    for k, report in enumerate(reports):
        near(report.weights, rule.xs[k // 2])
    near(reports[0].center, rule.c)
    assert less > 0


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_a_server_pulls_rows_that_its_worker_has_moved(played, world):
    reports = played("rows, in turn", world).first
    rule = in_turn(reports[0].start, [report.items for report in reports[:3]], LR, A)
    for report, x in zip(reports, [*rule.xs, rule.c], strict=True):
        near(report.weights, x)


ALIKE = "rows, together|rows, behind|rows, on the host|rows, in turn|rows, of chips|rows, in pairs|rows, averaged"


@pytest.mark.parametrize("name", ALIKE.split("|"))
def test_both_worlds_have_the_same_bits(played, name):
    virtual, real = (played(name, world).first for world in ("virtual", "mpi"))
    assert [report.weights.tobytes() for report in virtual] == [report.weights.tobytes() for report in real]


@pytest.mark.parametrize("world", ["virtual", "mpi"])
@pytest.mark.parametrize("name", ["rows, one by one", "rows, unlocked", "rows, read", "rows, pushed"])
def test_nothing_of_an_update_is_lost(played, name, world):
    """Elastic methods conserve sum_i x_i + c but for the workers' steps; others add all of them to c."""
    reports = played(name, world).first
    start, spent = np.float64(reports[0].start), sum(report.spent for report in reports[:3])
    center = reports[-1].weights if name in ("rows, one by one", "rows, pushed") else reports[0].center
    if name in ("rows, read", "rows, pushed"):
        near(center, start - LR * spent)
    else:
        near(sum(np.float64(report.weights) for report in reports[:3]) + center, 4 * start - LR * spent)


# -- limits ------------------------------------------------------------------------------------------------


NAMED = {
    "sync-sgd": (),
    "local-sgd": (("period", 3),),
    "slowmo": (("period", 3),),
    "sync-easgd": PULL,
    "sync-easgd1": PULL,
    "sync-easgd2": PULL,
    "sync-easgd3": (*PULL, ("pipelined", True)),
    "async-easgd": PULL,
    "original-easgd": (("mode", "serial"),),
    "hogwild-easgd": PULL,
    "sma": (("beta", 0.6), ("period", 2)),
    "chip-easgd": (*PULL, ("parts", 1)),
    "post-local-sgd": (("period", 3),),
    "async-sgd": (("period", 2),),
    "async-msgd": (),
    "noloco": (("period", 3), ("optimizer", "sgd"), ("lr", 0.05)),
}


@pytest.mark.parametrize("rows", ["", "all"])
@pytest.mark.parametrize("name", NAMED)
def test_where_all_rows_are_touched_every_bit_is_that_of_whole_vectors(played_alone, name, rows):
    """Told by the objective, with ids; or it does not tell."""
    setup = Setup(name, NAMED[name], steps=36, every=36, rows=rows)
    whole, touched = (played_alone(replace(setup, changes=changes)) for changes in (WHOLE, TOUCHED))
    for one, other in zip(whole, touched, strict=True):
        assert np.isfinite(one.weights).all()
        assert one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("step", [("momentum", 0.5), ("weight_decay", 0.1), ("optimizer", "adamw")])
def test_steps_that_move_all_rows_exchange_all(played_alone, step):
    setup = Setup("sync-easgd", (*PULL, step), steps=36, every=36, rows="some")
    whole, touched = (played_alone(replace(setup, changes=changes)) for changes in (WHOLE, TOUCHED))
    assert all(one.weights.tobytes() == other.weights.tobytes() for one, other in zip(whole, touched, strict=True))


def test_one_worker_is_the_same_in_every_elastic_method(played_alone):
    variants = {
        "sync-easgd": (),
        "sync-easgd1": (),
        "sync-easgd3": (),
        "async-easgd": (),
        "original-easgd": (("mode", "serial"),),
        "hogwild-easgd": (("overlap", False),),
    }
    seen, changes = set(), (*TOUCHED, *ONE_HOST)
    for name, parameters in variants.items():
        setup = Setup(name, (("rho", 6.0), *parameters), 1, steps=20, every=20, rows="some", changes=changes)
        seen.add(played_alone(setup)[0].weights.tobytes())
    assert len(seen) == 1


@pytest.mark.parametrize("period", [1, 3])
def test_one_worker_that_reads_new_rows_is_sequential(played_alone, period):
    changes = (*TOUCHED, *ONE_HOST)
    setup = Setup("hogwild-sgd", (("period", period),), 1, steps=21, every=21, rows="some", changes=changes)
    sequential = Setup("sgd", workers=1, steps=21, every=21, rows="some")
    (lone,), (expected,) = played_alone(setup), played_alone(sequential)
    near(lone.center, expected.weights)  # c + sum of three steps is rounded once
    if period == 1:
        assert lone.center.tobytes() == expected.weights.tobytes()


# -- bytes by hand -----------------------------------------------------------------------------------------


def saved(played_alone, setup):
    """Return the bytes that all ranks send less than with whole vectors, and what they report."""
    whole, touched = (played_alone(replace(setup, changes=changes)) for changes in (WHOLE, TOUCHED))
    sent = [sum(report.done.wire for report in reports) for reports in (whole, touched)]
    return sent[0] - sent[1], touched


def ids(found):
    """Number of ids: none of slices all of whose rows are meant."""
    return sum(int(flags.sum()) for flags in found if not flags.all())


def length(found):
    return int(elements(found).sum())


@pytest.mark.parametrize("name", ["sync-easgd", "sync-easgd3"])
def test_bytes_of_an_exchange_of_all(played_alone, name):
    """Two workers: an all-gather sends the block of each, an all-reduce the vector there and back."""
    setup = Setup(name, PULL, 2, steps=20, every=20, rows="some")
    less, reports = saved(played_alone, setup)
    expected = 0
    for moved in exchanging(reports, setup).moved:
        known = [k for k in range(len(ROWS)) if not any(found[k].all() for found in moved)]
        listed = [sum(int(found[k].sum()) for k in known) for found in moved]
        union = joined(moved)
        expected += 2 * 4 * SIZE - (2 * 4 * (1 + len(ROWS)) + 2 * 4 * max(listed) + 2 * 4 * length(union))
    assert less == expected


def test_bytes_of_an_exchange_with_a_server(played_alone):
    setup = Setup("original-easgd", (("rho", 6.0),), 2, steps=20, every=20, rows="some")
    less, reports = saved(played_alone, setup)
    expected = 0
    for (moved,) in in_turn(reports[0].start, [report.items for report in reports[:2]], LR, A).moved[2:]:
        expected += 2 * 4 * SIZE - (4 * len(ROWS) + 4 * ids(moved) + 2 * 4 * length(moved))
    assert less == expected, "the first exchange of each worker is whole"


FREE = (
    "virtual",
    {"latency": 0, "seconds_per_byte": 0, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.3},
)


@pytest.mark.parametrize(
    ("name", "parameters", "workers"),
    [("async-sgd", (), 1), ("async-sgd", (), 3), ("async-sgd", (("period", 3),), 3), ("noloco", (), 4)],
)
def test_rows_that_travel_alone_change_no_bit(played_alone, name, parameters, workers):
    """Where messages take no time, so that as many bytes less do not change who comes first."""
    step = (("period", 3), ("optimizer", "sgd"), ("lr", LR)) if name == "noloco" else parameters
    setup = Setup(name, step, workers, steps=60, every=60, rows="some")
    whole, touched = (played_alone(replace(setup, changes=(*changes, FREE))) for changes in (WHOLE, TOUCHED))
    for one, other in zip(whole, touched, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
    assert sum(report.done.wire for report in touched) < 0.9 * sum(report.done.wire for report in whole)


def test_bytes_of_pushing_and_pulling(played_alone):
    """Alone with the server a worker gets back the rows that it has pushed; the last push is whole."""
    less, reports = saved(played_alone, Setup("async-sgd", (), 1, steps=12, every=12, rows="some"))
    expected = -4 * len(ROWS)  # the first pull, which is whole, tells so
    for items in reports[0].items[:-1]:
        moved = rows_of(items)
        expected += 2 * 4 * SIZE - 2 * (4 * len(ROWS) + 4 * ids(moved) + 4 * length(moved))
    assert less == expected


def test_bytes_of_a_pair(played_alone):
    """One of the two vectors that each sends has the rows that its steps have moved."""
    parameters = (("period", 1), ("optimizer", "sgd"), ("lr", LR))
    less, reports = saved(played_alone, Setup("noloco", parameters, 2, steps=24, every=24, rows="some"))
    expected = 0
    for report in reports:
        for items in report.items:
            moved = rows_of(items)
            expected += 4 * SIZE - (4 * len(ROWS) + 4 * ids(moved) + 4 * length(moved))
    assert less == expected


def test_bytes_of_reading_and_adding(played_alone):
    """Every read fetches one count per row; every addition counts its rows."""
    setup = Setup("hogwild-sgd", (), 1, steps=12, every=12, rows="some")
    less, (report,) = saved(played_alone, setup)
    counts, expected = 4 * sum(ROWS), 0
    read = SIZE  # the first read is whole
    for items in report.items:
        moved = rows_of(items)
        expected += 2 * 4 * SIZE - (counts + 4 * read + 4 * length(moved) + 4 * sum(int(f.sum()) for f in moved))
        read = length(moved)
    assert less == expected


# -- restarts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sync-easgd", (("rho", 6.0), ("period", 4))),
        ("sync-easgd3", (("rho", 6.0), ("period", 4), ("pipelined", True))),
        ("async-easgd", (("rho", 6.0), ("period", 4))),
        ("sma", (("beta", 0.6), ("period", 4))),
        ("async-sgd", (("period", 4),)),
    ],
)
def test_a_restart_knows_the_rows_moved_before_it(attempts, name, parameters):
    """Checkpoints lie between two exchanges of the synchronous ones."""
    setup = Setup(name, parameters, rows="some", changes=(*PERIODIC, *TOUCHED), cut=80)
    for straight, restarted in attempts(setup):
        assert restarted.picked < straight.picked or straight.picked == 0
        assert straight.weights.tobytes() == restarted.weights.tobytes()


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_a_restart_knows_the_latest_average(played, world):
    run = played("rows, averaged", world)
    for straight, restarted in zip(run.first, run.last, strict=True):
        assert restarted.picked < straight.picked
        assert straight.weights.tobytes() == restarted.weights.tobytes()
        assert straight.center.tobytes() == restarted.center.tobytes()


# -- parts -------------------------------------------------------------------------------------------------

LAYOUT = (Slice("matrix", 0, 12, (6, 2)), Slice("bias", 12, 16, (4,)), Slice("one", 16, 19, (1, 3)))


def some(*rows):
    return Touched(
        tuple(
            Rows(part, None if found is None else torch.tensor(found, dtype=torch.int64))
            for part, found in zip(LAYOUT, rows, strict=True)
        )
    )


def test_packed_rows_are_those_elements():
    rows, x = some([1, 4], None, []), torch.arange(19.0)
    values = packed(x, rows)
    assert values.tolist() == [2, 3, 8, 9, 12, 13, 14, 15] == rows.elements().tolist()
    into = torch.zeros(19)
    assert packed(x, rows, into).data_ptr() == into.data_ptr() == front(into, rows).data_ptr()
    y = torch.full((19,), -1.0)
    rows.unpack(values, y)
    assert y.tolist() == [float(v) if v in values.tolist() else -1.0 for v in x.tolist()]
    rows.add_packed(y, values, -1.0)
    assert y[rows.elements()].tolist() == [0.0] * 8 and y.sum() == -11


MINE = {0: some([1], [0], []), 1: some([1, 5], [], []), 2: some([], [0, 1, 2, 3], None)}


def test_ranks_agree_on_the_union_and_one_tells_another():
    spec = SETUPS["rows, together"].spec("virtual")

    def main(comm):
        union = agreed(comm, LAYOUT, MINE[comm.rank])
        some_are_all = agreed(comm, LAYOUT, None if comm.rank == 1 else MINE[comm.rank])
        comm.barrier()
        if comm.rank == 0:
            for rows in (MINE[1], MINE[2], all_rows(LAYOUT)):
                for pending in tell(comm, rows, 1):
                    pending.wait()
        heard = [hear(comm, LAYOUT, 0) for _ in range(3)] if comm.rank == 1 else None
        return union, some_are_all, heard

    answers = run_virtual(3, spec.virtual, main)
    for union, some_are_all, _ in answers:
        assert some_are_all is None
        assert [None if rows.ids is None else rows.ids.tolist() for rows in union] == [[1, 5], [0, 1, 2, 3], None]
    one, two, whole = answers[1][2]
    assert whole is None
    assert [rows.ids.tolist() for rows in one] == [[1, 5], [], []]
    assert [None if rows.ids is None else rows.ids.tolist() for rows in two] == [[], [0, 1, 2, 3], None]


def test_a_reader_knows_the_rows_that_any_rank_has_changed():
    def main(comm):
        versions = RowVersions(comm, LAYOUT)
        found = [versions.changed()]
        for changes in ({1: MINE[1], 2: MINE[2]}, {}, {0: None}):
            comm.barrier()
            if comm.rank in changes:
                versions.count(changes[comm.rank])
            comm.barrier()
            found.append(versions.changed())
        versions.close()
        return found

    for first, some_rows, no_rows, all_of_them in run_virtual(
        3, SETUPS["rows, read"].spec("virtual").virtual, main
    ):
        assert first is None
        assert [rows.ids.tolist() for rows in some_rows] == [[1, 5], [0, 1, 2, 3], [0]]
        assert len(no_rows) == 0
        assert all_of_them is None


def test_widths_of_the_problem():
    """The layout of the problem and the rule's are the same."""
    assert sum(rows * width for rows, width in zip(ROWS, WIDTHS, strict=True)) == SIZE
    assert max(ROWS) > BATCH, "a batch cannot touch all rows"


def test_every_named_method_exists():
    assert set(NAMED) | {"hogwild-sgd"} <= set(catalogue())
