"""The verdict as a pure function of the evidence."""

import pytest
from hooke.cluster.verdict import Evidence, Outside, aborted_rank, judge, quote_error, signal_name
from hooke.spec.events import Done, RankExit
from hooke.spec.states import DIVERGED

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "x.py", line 1, in run',
    "    boom()",
    "ValueError: rho",
]


def done(reason="budget"):
    numbers = dict(step=1, samples=1, clock=1, wall=1, hidden=0, payload=0, wire=0, messages=0)
    return Done(seq=9, reason=reason, phases={}, **numbers)


def left(rank, code=0, signal=None, at=1.0):
    return RankExit(rank=rank, host="vm", pid=1, code=None if signal else code, signal=signal, monotonic=at)


def verdict(status, exits=(), reasons=("budget", "budget"), **more):
    return judge(
        Evidence(
            ranks=2,
            status=status,
            exits={x.rank: x for x in exits},
            done={rank: done(reason) for rank, reason in enumerate(reasons) if reason},
            **more,
        )
    )


FINE = (left(0), left(1))


@pytest.mark.parametrize(
    ("reasons", "state"),
    [
        (("budget", "budget"), "succeeded"),
        (("target", "target"), "succeeded"),
        (("cancelled", "cancelled"), "cancelled"),
        (("timed_out", "timed_out"), "timed_out"),
        (("timed_out", "cancelled"), "timed_out"),
    ],
)
def test_status_0_and_done_from_every_rank_says_what_done_says(reasons, state):
    assert verdict(0, FINE, reasons).state == state


def test_status_0_is_not_believed_without_done_from_every_rank():
    report = verdict(0, FINE, ("budget", None))
    assert (report.state, report.rank, report.exit_code) == ("failed_infra", 1, 0)
    assert "exited too early" in report.why


@pytest.mark.parametrize("reasons", [("budget", "budget"), ("target", "target")])
@pytest.mark.parametrize("status", [9, -9, None])
@pytest.mark.parametrize(
    "after",
    [
        {},
        {"cause": "hydra_pmi_proxy (pid 7) died before its ranks", "cause_at": 0.5},
        {"cancelled": True},
        {"outside": Outside("infrastructure", "NODE_FAIL")},
    ],
)
def test_ranks_that_are_known_to_have_completed_have_whatever_became_of_their_launcher(status, reasons, after):
    assert verdict(status, FINE, reasons, **after).state == "succeeded"
    assert verdict(status, FINE, ("timed_out", "timed_out"), **after).state == "timed_out"


@pytest.mark.parametrize(
    ("exits", "reasons"),
    [
        (FINE[:1], ("budget", "budget")),
        (FINE, ("budget", None)),
        ((left(0), left(1, signal=9)), ("budget", "budget")),
        ((left(0), left(1, code=1)), ("budget", "budget")),
        (FINE, ("cancelled", "cancelled")),
    ],
)
def test_ranks_of_which_one_is_not_known_to_have_completed_have_not(exits, reasons):
    assert verdict(-9, exits, reasons, cause="proxy died", cause_at=0.5).state == "failed_infra"


def test_a_dropped_worker_is_not_waited_for():
    last = done().model_copy(update={"dropped": (1,)})
    ends = {0: left(0), 1: left(1, signal=9)}
    assert judge(Evidence(ranks=2, status=-9, exits=ends, done={0: last}, cause="died")).state == "succeeded"


def test_the_earliest_end_is_the_cause():
    exits = (left(0, signal=15, at=2.0), left(1, signal=9, at=1.0))
    report = verdict(9, exits, (None, None))
    assert (report.state, report.rank, report.signal, report.host) == ("failed_infra", 1, 9, "vm")


def test_a_rank_that_had_done_its_work_and_then_ended_well_is_no_fault():
    report = verdict(9, (left(0, at=1.0), left(1, signal=11, at=2.0)), ("budget", None))
    assert (report.rank, report.signal) == (1, 11)


def test_a_crash_while_ending_is_a_fault_even_after_done():
    assert verdict(11, (left(0), left(1, signal=11)), ("budget", "budget")).state == "failed_infra"


def test_what_the_supervisor_saw_die_is_the_cause_unless_a_rank_was_first():
    consequence = verdict(255, (left(0, code=15, at=5.0),), (None, None), cause="proxy died", cause_at=4.0)
    assert consequence.why == "proxy died"
    first = verdict(255, (left(0, signal=9, at=3.0),), (None, None), cause="proxy died", cause_at=4.0)
    assert first.rank == 0


def test_an_abort_with_status_3_is_the_users_error_of_the_rank_that_printed_it():
    logs = {0: ["hello"], 1: [*TRACEBACK, "Abort(3) on node 1 (rank 1 in comm 0): application called MPI_Abort"]}
    report = verdict(3, (left(0, code=15),), (None, None), logs=logs)
    assert (report.state, report.rank, report.exit_code) == ("failed_user", 1, 3)
    assert report.why.startswith("rank 1 raised ValueError: rho")
    assert "Abort(3)" not in report.why


def test_of_ranks_that_all_raise_without_an_abort_the_first_is_quoted():
    """As where no rank can load the MPI library: the reason stayed in their logs."""
    logs = {rank: [*TRACEBACK[:-1], f"ImportError: libmpi.so.12 of rank {rank}"] for rank in (0, 1)}
    report = verdict(3, (left(0, code=3, at=2.0), left(1, code=3, at=1.0)), (None, None), logs=logs)
    assert (report.state, report.rank, report.exit_code) == ("failed_user", 1, 3)
    assert report.why.startswith("rank 1 raised ImportError: libmpi.so.12 of rank 1")


def test_divergence_is_told_apart_from_other_errors_of_the_user():
    logs = {1: ["Traceback (most recent call last):", "hooke.errors.NumericalError: rank 1, step 7: NaN"]}
    died = verdict(5, (left(0, signal=15, at=2.0), left(1, code=5, at=1.0)), (None, None), logs=logs)
    assert (died.state, died.rank, died.exit_code) == ("failed_user", 1, DIVERGED)
    assert died.why.startswith("rank 1 raised hooke.errors.NumericalError: rank 1, step 7")
    aborted = verdict(5, (), (None, None), logs={1: [*logs[1], "Abort(5) on node 1 (rank 1 in comm 0): x"]})
    assert (aborted.state, aborted.rank, aborted.exit_code) == ("failed_user", 1, DIVERGED)


def test_a_crash_inside_mpi_abort_is_not_the_cause():
    logs = {1: [*TRACEBACK, "Abort(3) on node 1 (rank 1 in comm 0): application called MPI_Abort"]}
    report = verdict(3, (left(1, signal=11),), (None, None), logs=logs)
    assert (report.state, report.rank, report.exit_code, report.signal) == ("failed_user", 1, 3, None)


def test_a_killed_rank_is_the_cause_of_what_the_others_raise():
    logs = {0: TRACEBACK}
    report = verdict(3, (left(1, signal=9, at=1.0),), (None, None), logs=logs)
    assert (report.state, report.rank) == ("failed_infra", 1)


def test_a_user_error_without_traceback_says_so():
    report = verdict(3, (left(0, code=3),), (None, None))
    assert report.state == "failed_user"
    assert "no traceback" in report.why


def test_a_cancel_wins_over_how_the_ranks_died_but_not_over_success():
    assert verdict(9, (left(0, signal=9),), (None, None), cancelled=True).state == "cancelled"
    assert verdict(0, FINE, cancelled=True).state == "succeeded"


def test_a_fenced_attempt_never_succeeds():
    assert verdict(0, FINE, fenced=True).state == "failed_infra"


def test_what_resists_sigkill_is_named():
    assert "4711" in verdict(0, FINE, left=(4711,)).why


def test_long_tracebacks_keep_their_end():
    lines = ["Traceback (most recent call last):", *[f"  line {i} {'x' * 90}" for i in range(70)], "KeyError: 'a'"]
    why = verdict(3, (left(0, code=3),), (None, None), logs={0: lines}).why
    assert len(why) <= 2000
    assert why.startswith("rank 0 raised KeyError: 'a'")


def test_who_aborted_is_read_from_mpi_or_from_the_only_traceback():
    assert aborted_rank({0: TRACEBACK, 1: ["Abort(4) on node 1 (rank 1 in comm 0): x"]}) == 1
    assert aborted_rank({0: [], 1: TRACEBACK}) == 1
    assert aborted_rank({0: TRACEBACK, 1: TRACEBACK}) is None


def test_signals_have_names():
    assert signal_name(9) == "SIGKILL (9)"
    assert signal_name(99) == "signal 99"


def test_what_the_launcher_prints_behind_a_traceback_is_not_the_error():
    """MPICH's own lines, when the rank that raised has ended the others."""
    lines = ["Traceback (most recent call last):", '  File "x.py", line 1', "hooke.errors.DataInvalid: 9 items"]
    lines += ["Abort(3) on node 0 (rank 0 in comm 0): application called MPI_Abort"]
    lines += [
        "[unset] PMIU_write error; fd=9 buf=:cmd=abort exitcode=3",
        "[cli-1]: PMIU_write error; fd=10 buf=:cmd=abort exitcode=3 message=abort",
        ":",
        "system msg for write_line failure : Pipe",
    ]
    said = quote_error(0, lines)
    assert said == "rank 0 raised hooke.errors.DataInvalid: 9 items", "what it says is enough: no places in Hooke"
    lines[2] = "ValueError: 9 items"
    said = quote_error(0, lines).splitlines()
    assert (said[0], said[-1]) == ("rank 0 raised ValueError: 9 items", "ValueError: 9 items")
    assert '  File "x.py", line 1' in said


HYDRA = """\
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 28752 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application."""
OPEN_MPI = (
    "prterun noticed that process rank 1 with PID 4711 on node n7 exited on\nsignal 11 (Segmentation fault)."
)


@pytest.mark.parametrize(
    ("words", "said", "rank", "number"),
    [
        (HYDRA, "a guard (process 28752 on vm) was killed by SIGKILL (9), mpirun says", None, 9),
        (OPEN_MPI, "the guard of rank 1 (process 4711 on n7) was killed by SIGSEGV (11), mpirun says", 1, 11),
        (
            HYDRA.replace("EXIT CODE: 9", "EXIT CODE: 7").partition("YOUR APPLICATION TERM")[0],
            "a guard (process 28752 on vm) ended with status 7, mpirun says",
            None,
            None,
        ),
    ],
)
def test_what_mpirun_says_of_a_guard_that_could_not_is_told(words, said, rank, number):
    report = verdict(9, (), (None, "budget"), words=words.splitlines())
    assert report.state == "failed_infra"
    assert report.why == f"{said}; that left no `done` record of rank 0"
    assert (report.rank, report.signal) == (rank, number)


def test_words_about_nothing_name_nobody():
    assert "no guard lived to tell" in verdict(9, (), (None, None), words=["hello", "= EXIT CODE: 9"]).why
    blamed = verdict(9, (left(0, signal=11),), (None, None), words=HYDRA.splitlines())
    assert (blamed.rank, blamed.signal) == (0, 11)  # a guard's own record says more
