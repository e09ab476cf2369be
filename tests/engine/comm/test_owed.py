"""Transfers that are waited for while the train clock stands: what they still needed is waited for later."""

import pytest
from hooke.comm.base import Comm
from hooke.comm.wrappers.timed import Timed, connect
from hooke.spec.measured import OperationCost
from hooke.spec.specification import Communication
from hooke.trace.phases import Ledger, Phase
from hooke.trace.reading import read
from hooke.trace.recording import Trace, TracedLedger

from tests.engine.comm.test_virtual_time import MESSAGE, vector
from tests.engine.comm.worlds import NETWORK, virtual

SUM = 2 * MESSAGE
"""Seconds of an all-reduce of two ranks."""
SCORING = 3.0
TAKES = SUM / 20
"""Seconds that a message in the background takes from the rank's computation: a sum of two ranks has two."""
BUSY = NETWORK.model_copy(
    update={"operations": {"background": OperationCost(seconds_per_message=TAKES, seconds_per_byte=0)}}
)


def evaluate(timed: Timed, *pending) -> float:
    """Complete transfers and score while the clock stands; return the latest time at which they are due."""
    ledger = timed.ledger
    ledger.enter(Phase.EVALUATE)
    with timed.standing():
        for each in pending:
            each.wait()
    due = max((owed.due for owed in timed.account.owed), default=0.0)
    timed.charge(SCORING)
    ledger.enter(Phase.COMPUTE)
    timed.owe()
    return due


def played(main, network=NETWORK, packing="one") -> list[dict[str, float]]:
    """Return what each of two ranks has in its ledger after `main(timed)`, and its train clock."""

    def rank(comm: Comm) -> dict[str, float]:
        ledger = Ledger(comm.clock)
        timed = connect(comm, Communication(packing=packing, bucket_bytes=1024), (), ledger)
        ledger.enter(Phase.COMPUTE)
        main(timed)
        ledger.enter(Phase.COMPUTE)
        return {str(phase): s for phase, s in ledger.seconds.items()} | {
            "hidden": ledger.hidden,
            "clock": ledger.train(),
        }

    return virtual(2, rank, network=network)


def test_the_next_operation_waits_for_what_was_still_under_way():
    """A fifth of the sum behind work before the evaluation, three fifths after it: a fifth is exposed."""

    def main(timed: Timed) -> None:
        pending = timed.iallreduce(vector())
        timed.charge(SUM / 5)
        assert evaluate(timed, pending) == pytest.approx(SUM)
        timed.charge(3 * SUM / 5)
        timed.allreduce(vector())

    for rank in played(main):
        assert rank["communicate"] == pytest.approx(SUM / 5 + SUM)
        assert rank["hidden"] == pytest.approx(4 * SUM / 5)
        assert rank["evaluate"] == pytest.approx(4 * SUM / 5 + SCORING)
        assert rank["clock"] == pytest.approx(2 * SUM)


def test_a_further_wait_for_the_transfer_waits_for_the_rest():
    def main(timed: Timed) -> None:
        pending = timed.iallreduce(vector())
        evaluate(timed, pending)
        timed.charge(SUM / 4)
        pending.wait()
        pending.wait()
        timed.charge(SUM)
        timed.allreduce(vector())  # nothing is owed any more

    for rank in played(main):
        assert rank["communicate"] == pytest.approx(3 * SUM / 4 + SUM)
        assert rank["hidden"] == pytest.approx(SUM / 4)
        assert rank["clock"] == pytest.approx(3 * SUM)


def test_nothing_is_owed_once_the_clock_has_passed_it():
    def main(timed: Timed) -> None:
        evaluate(timed, timed.iallreduce(vector()))
        timed.charge(2 * SUM)
        timed.allreduce(vector())

    for rank in played(main):
        assert (rank["communicate"], rank["hidden"]) == (pytest.approx(SUM), pytest.approx(SUM))


def test_a_complete_transfer_owes_nothing():
    def main(timed: Timed) -> None:
        pending = timed.iallreduce(vector())
        timed.charge(2 * SUM)
        evaluate(timed, pending)
        timed.allreduce(vector())

    for rank in played(main):
        assert (rank["communicate"], rank["clock"]) == (pytest.approx(SUM), pytest.approx(3 * SUM))


def test_control_words_wait_for_nothing():
    def main(timed: Timed) -> None:
        evaluate(timed, timed.iallreduce(vector()))
        timed.control.allreduce((1.0,))
        assert timed.ledger.train() == pytest.approx(0.0)
        timed.pay()

    for rank in played(main):
        assert (rank["communicate"], rank["clock"]) == (pytest.approx(SUM), pytest.approx(SUM))


def test_evaluations_one_after_the_other_move_nothing():
    """Ten evaluations during a sum: each would have had the result at the same time."""

    def main(timed: Timed) -> None:
        pending = timed.iallreduce(vector())
        for _ in range(10):
            timed.charge(SUM / 20)
            assert evaluate(timed, pending) == pytest.approx(SUM)
        timed.allreduce(vector())

    for rank in played(main):
        assert rank["communicate"] == pytest.approx(SUM / 2 + SUM)
        assert rank["hidden"] == pytest.approx(SUM / 2)
        assert rank["clock"] == pytest.approx(2 * SUM)
        assert rank["evaluate"] == pytest.approx(19 * SUM / 20 + 10 * SCORING)  # it has arrived at the first


def test_work_of_the_method_at_the_stop_is_on_the_clock():
    """Arithmetic with what has arrived takes the place of work after the evaluation."""

    def main(timed: Timed) -> None:
        pending = timed.iallreduce(vector())
        ledger = timed.ledger
        with timed.standing():
            ledger.enter(Phase.UPDATE)
            pending.wait()
            timed.charge(SUM / 2)
        ledger.enter(Phase.COMPUTE)
        timed.owe()
        timed.allreduce(vector())

    for rank in played(main):
        assert (rank["update"], rank["evaluate"]) == (pytest.approx(SUM / 2), pytest.approx(SUM))
        assert (rank["communicate"], rank["clock"]) == (pytest.approx(SUM / 2 + SUM), pytest.approx(2 * SUM))


def test_a_trace_sums_to_the_ledger(tmp_path):
    def rank(comm: Comm) -> float:
        about = {"rank": comm.rank, "ranks": 2, "role": "worker", "world": "virtual", "host": "here"}
        ledger = TracedLedger(comm.clock, Trace(tmp_path / f"trace.{comm.rank}.bin", about))
        timed = connect(comm, Communication(), (), ledger)
        ledger.begin()
        pending = timed.iallreduce(vector())
        timed.charge(SUM / 5)
        evaluate(timed, pending)
        timed.charge(SUM / 5)
        timed.allreduce(vector())
        ledger.enter(Phase.IDLE)
        ledger.trace.finish()
        ledger.trace.close()
        return ledger.hidden

    assert virtual(2, rank) == pytest.approx([2 * SUM / 5] * 2)
    found = read(tmp_path / "trace.0.bin")
    assert sum(end - begin for each in found.transfers for begin, end in each.hidden) == pytest.approx(2 * SUM / 5)
    assert [each.name for each in found.transfers] == ["all-reduce", "all-reduce"]


@pytest.mark.parametrize(
    ("before", "packing"),
    [(0.2, "one"), (0.95, "one"), (3.0, "one"), (0.2, "buckets"), (0.95, "buckets"), (3.0, "buckets")],
)
@pytest.mark.parametrize("after", [0.1, 2.0])
def test_an_evaluation_does_not_do_the_work_of_a_rank_for_its_transfers(before, after, packing):
    """What a transfer takes from the computation is on the clock, whether it had arrived at the stop or not."""

    def main(timed: Timed, stops: bool) -> None:
        pending = timed.iallreduce(vector())
        timed.charge(before * SUM)
        if stops:
            evaluate(timed, pending)
        timed.charge(after * SUM)
        pending.wait()

    disturbed, alone = (played(lambda t, s=stops: main(t, s), BUSY, packing) for stops in (True, False))
    for one, other in zip(disturbed, alone, strict=True):
        assert one["clock"] == pytest.approx(other["clock"])
        assert one["communicate"] == pytest.approx(other["communicate"])


def test_a_transfer_that_is_waited_for_again_holds_up_the_links_and_not_the_rank():
    """The next sum begins when it would have ended, and the rank works meanwhile; alone both take as long."""

    def main(timed: Timed, stops: bool) -> None:
        first = timed.iallreduce(vector())
        timed.charge(SUM / 5)
        if stops:
            timed.ledger.enter(Phase.EVALUATE)
            with timed.standing():
                timed.complete([first])
            timed.charge(SCORING)
            timed.ledger.enter(Phase.COMPUTE)
            timed.owe()
        timed.charge(SUM / 5)
        second = timed.iallreduce(vector())
        timed.charge(SUM / 5)
        first.wait()
        timed.charge(SUM / 5)
        second.wait()

    disturbed, alone = (played(lambda t, s=stops: main(t, s)) for stops in (True, False))
    for one, other in zip(disturbed, alone, strict=True):
        assert other["clock"] == pytest.approx(2 * SUM)
        for figure in ("clock", "communicate", "hidden"):
            assert one[figure] == pytest.approx(other[figure])


def test_an_operation_that_a_method_calls_at_the_stop_is_on_the_clock():
    """One that exchanges what it has held back pays for it."""

    def main(timed: Timed) -> None:
        with timed.standing():
            timed.allreduce(vector())
            pending = timed.iallreduce(vector())
            pending.wait()
        timed.owe()
        timed.allreduce(vector())

    for rank in played(main):
        assert (rank["communicate"], rank["evaluate"]) == (pytest.approx(3 * SUM), pytest.approx(SUM))
        assert rank["clock"] == pytest.approx(3 * SUM)
