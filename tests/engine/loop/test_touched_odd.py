"""Exchanges of touched rows at odd sizes, against float64 NumPy: one worker, five, seven, any period."""

import numpy as np
import pytest
import torch
from hooke.comm.base import Slice
from hooke.comm.collectives import sum_of_equals
from hooke.comm.virtual.communicator import run_virtual
from hooke.comm.wrappers.timed import connect
from hooke.spec.communication import Communication
from hooke.trace.phases import Ledger

from tests.engine.loop.row_rules import gradient, in_turn, together
from tests.engine.loop.setup import Setup, play_virtual
from tests.engine.loop.setups import TOUCHED

LR, STEPS = 0.05, 14
"""Steps of each worker."""
WORKERS = [1, 3, 5, 7]
FOR_EVER = 50


def played(folder, name, workers, *parameters):
    """Return what each rank reports, and the items of the batches of each worker."""
    steps = STEPS * workers
    setup = Setup(name, (("lr", LR), *parameters), workers, steps=steps, every=steps, rows="some", changes=TOUCHED)
    reports = [attempts[0] for attempts in play_virtual(setup, folder)]
    return reports, [report.items for report in reports[:workers]]


def near(value, expected):
    np.testing.assert_allclose(value, expected, rtol=3e-5, atol=3e-6)


def averaged(start, items, period):
    """H steps of each worker, then the mean for all (arXiv 1805.09767)."""
    xs = [np.float64(start) for _ in items]
    for t in range(len(items[0])):
        xs = [x - LR * gradient(i, x, items[i][t]) for i, x in enumerate(xs)]
        if (t + 1) % period == 0:
            xs = [np.mean(xs, axis=0)] * len(xs)
    return xs


@pytest.mark.parametrize("period", [1, 3, FOR_EVER])
@pytest.mark.parametrize("workers", WORKERS)
def test_averages(tmp_path, workers, period):
    reports, items = played(tmp_path, "local-sgd", workers, ("period", period))
    for report, x in zip(reports, averaged(reports[0].start, items, period), strict=True):
        near(report.weights, x)
    if period == FOR_EVER:
        assert reports[0].center.tobytes() == reports[0].start.tobytes(), "nothing was averaged"


@pytest.mark.parametrize("period", [1, 3, FOR_EVER])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", ["sync-easgd", "sync-easgd1"])
def test_exchanges_of_all(tmp_path, name, workers, period):
    a = 0.9 / workers
    reports, items = played(tmp_path, name, workers, ("period", period), ("alpha", a))
    rule = together(reports[0].start, items, LR, a, period)
    for report, x in zip(reports, rule.xs, strict=False):
        near(report.weights, x)
    center = reports[-1].weights if name == "sync-easgd1" else reports[0].center
    near(center, rule.c)


@pytest.mark.parametrize("mode", ["ordered", "serial"])
@pytest.mark.parametrize("workers", WORKERS)
def test_exchanges_in_turn(tmp_path, workers, mode):
    reports, items = played(tmp_path, "original-easgd", workers, ("mode", mode), ("alpha", 0.3))
    rule = in_turn(reports[0].start, items, LR, 0.3)
    for report, x in zip(reports, [*rule.xs, rule.c], strict=True):
        near(report.weights, x)


LAYOUT = (Slice("matrix", 0, 12, (6, 2)), Slice("bias", 12, 16, (4,)))


@pytest.mark.parametrize("wire", ["fp32", "bf16"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_updates_without_any_row_send_none(ranks, wire):
    communication = Communication(rows="touched", wire=wire, error_feedback=False)

    def main(comm):
        sums = connect(comm, communication, LAYOUT, Ledger(comm.clock)).sending("updates")
        zeros, into, one = torch.zeros(16), torch.full((16,), 7.0), torch.zeros(16)
        sums.allreduce(zeros)
        sums.iallreduce(zeros, into).wait()
        one[13] = comm.rank + 1.0
        sums.allreduce(one)
        return zeros.tolist(), into.tolist(), one.tolist()

    network = Setup("sync-sgd").spec("virtual").virtual
    for zeros, into, one in run_virtual(ranks, network, main):
        assert zeros == into == [0.0] * 16
        assert one == [0.0] * 13 + [ranks * (ranks + 1) / 2, 0.0, 0.0]


@pytest.mark.parametrize("content", ["updates", "averages"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_a_rank_that_touched_nothing_sums_the_rows_of_the_one_that_did(ranks, content):
    def main(comm):
        sums = connect(comm, Communication(rows="touched"), LAYOUT, Ledger(comm.clock)).sending(content)
        base = torch.arange(16.0) / 8 if content == "averages" else torch.zeros(16)
        x = base.clone()
        sums.allreduce(x)  # of averages the first one is whole
        before = comm.traffic.payload
        x = base.clone()
        if comm.rank == ranks - 1:
            x[4:6] += 3.0
            x[15] -= 1.0
        sums.allreduce(x)
        return x.tolist(), comm.traffic.payload - before

    expected = ranks * np.arange(16) / 8 * (content == "averages")
    expected[[4, 5, 15]] += [3, 3, -1]
    for x, sent in run_virtual(ranks, Setup("sync-sgd").spec("virtual").virtual, main):
        assert x == pytest.approx(expected.tolist(), rel=1e-6)
        assert sent < 4 * 16


def test_averages_of_a_part_of_the_ranks_have_the_order_of_their_collective():
    """Of five equal numbers a ring adds one after the other, and a tree in pairs."""
    values = torch.arange(2.0, 18.0).sqrt()

    def main(comm):
        asked = Communication(rows="touched", collective="ring")
        sums = connect(comm, asked, LAYOUT, Ledger(comm.clock)).split(0, comm.rank).sending("averages")
        x = values.clone()
        sums.allreduce(x)
        kept = x.mul_(1 / 5).clone()
        sums.allreduce(x)
        return kept.tolist(), x.tolist()

    for kept, x in run_virtual(5, Setup("sync-sgd").spec("virtual").virtual, main, collective="ring"):
        assert x == sum_of_equals(torch.tensor(kept), 5, "ring").tolist()
    assert x != sum_of_equals(torch.tensor(kept), 5, "tree").tolist(), "these numbers tell both apart"


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_averages_of_equal_vectors_send_no_row_and_stay(ranks):
    """As after a round in which no row was touched: what the first average left is what the next one leaves."""

    def main(comm):
        timed = connect(comm, Communication(rows="touched"), LAYOUT, Ledger(comm.clock))
        sums, x = timed.sending("averages"), torch.arange(16.0) / 3
        sent = []
        for _ in range(3):
            sums.allreduce(x)
            x.mul_(1 / ranks)
            sent.append(comm.traffic.payload)
        return x.tolist(), np.diff(sent).tolist()

    network = Setup("sync-sgd").spec("virtual").virtual
    for x, sent in run_virtual(ranks, network, main):
        assert x == pytest.approx((np.arange(16) / 3).tolist(), rel=1e-6)
        assert all(more < 4 * 16 for more in sent)
