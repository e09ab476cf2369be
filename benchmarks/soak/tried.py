"""Every fault, and where it is tried: tests of the suite, kinds that soaks draw, planned scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault. `tests`: file and function below tests; `kinds`: of soaks; `planned`: names of scenarios."""

    what: str
    tests: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()


_SITE = "cluster/acceptance/test_whole_site.py"
_DEATHS, _SUPERVISOR = "cluster/test_deaths.py", "cluster/test_supervisor.py"
_KILLED = (f"{_DEATHS}::test_kill_of_any_rank_or_guard", f"{_SITE}::test_kill_of_every_kind_of_process_of_a_run")
FAULTS = (
    Fault("API away for 0 to 60 s", (f"{_SITE}::test_the_api_is_killed_in_mid_run",), ("API away", "kill API")),
    Fault("API away for 15 minutes", planned=("API away for 15 minutes",)),
    Fault(
        "a run ends while the API is away",
        (f"{_SUPERVISOR}::test_a_run_that_ends_while_the_api_answers_nobody_is_delivered_later",),
        planned=("ends while the API is away",),
    ),
    Fault(
        "API stopped, or its answers 429, 500, garbage, late, twice, lost, never",
        (f"{_SUPERVISOR}::test_an_api_in_trouble_loses_and_doubles_nothing",),
        (
            "stop API",
            *(f"proxy: {mode}" for mode in ("429", "500", "garbage", "slow", "twice", "unanswered", "never")),
        ),
    ),
    Fault(
        "agent killed, stopped",
        (f"{_SITE}::test_the_agent_is_killed_the_message_comes_twice_and_cancel_leaves_nothing",),
        ("kill agent", "stop agent"),
    ),
    Fault(
        "supervisor killed, stopped",
        (
            f"{_SUPERVISOR}::test_killing_the_supervisor_ends_the_ranks_and_the_next_one_tells",
            f"{_SITE}::test_the_supervisor_is_killed_and_the_next_attempt_goes_on_from_the_checkpoint",
        ),
        ("kill supervisor", "stop supervisor"),
    ),
    Fault("guard killed, stopped", _KILLED[:1], ("kill guard", "stop guard")),
    Fault("proxy of mpirun killed", (f"{_DEATHS}::test_kill_of_hydras_proxy",), ("kill proxy of mpirun",)),
    Fault("mpirun killed, stopped", (f"{_DEATHS}::test_kill_of_mpirun",), ("kill mpirun", "stop mpirun")),
    Fault("rank killed", _KILLED, ("kill rank",), ("ranks",)),
    Fault(
        "rank stopped",
        (f"{_SUPERVISOR}::test_a_rank_that_is_stopped_ends_the_run_with_its_name",),
        ("stop rank",),
        ("ranks",),
    ),
    Fault("rank raises", (f"{_DEATHS}::test_a_user_error_quotes_its_traceback",), (), ("ranks",)),
    Fault(
        "rank out of memory",
        (
            "cluster/test_guard.py::test_a_rank_that_the_kernel_killed_for_lack_of_memory_is_told_from_one_that_was_killed",
        ),
        (),
        ("ranks",),
    ),
    Fault("Redis restarted", kinds=("kill Redis",)),
    Fault("Redis flushed", kinds=("Redis flushed",), planned=("Redis gone",)),
    Fault("Redis gone", kinds=("Redis away",), planned=("Redis gone",)),
    Fault(
        "Redis stopped",
        ("api/test_stopped_broker.py::test_one_order_of_a_pass_is_waited_for_and_all_arrive_when_redis_goes_on",),
        ("stop Redis",),
    ),
    Fault(
        "PostgreSQL restarted, killed, stopped",
        (),
        ("PostgreSQL restarted", "kill PostgreSQL", "kill a backend of PostgreSQL", "stop PostgreSQL"),
    ),
    Fault("PostgreSQL failed over", ("api/test_failover.py::test_what_was_acknowledged_survives_a_failover",)),
    Fault(
        "agent's disk full",
        ("cluster/test_full_disk.py::test_a_launch_without_space_is_reported_with_its_cause",),
        ("agent's disk full",),
    ),
    Fault(
        "server's disk full",
        ("api/test_busy.py::test_a_full_disk_ends_nothing_and_work_goes_on_when_there_is_space",),
        ("server's disk full",),
    ),
    Fault(
        "host cut off the network",
        ("netlab/test_hosts.py::test_a_host_cut_off_in_mid_run_is_told_as_such_and_nothing_is_left",),
        ("host cut off",),
        ("host cut off",),
    ),
    Fault(
        "the same order twice",
        ("cluster/test_orders.py::test_the_same_order_from_many_threads_starts_one_supervisor",),
        ("order delivered twice",),
        ("late orders",),
    ),
    Fault("an order older than the visibility timeout", (), ("old order delivered",), ("late orders",)),
    Fault(
        "cancel while starting, running, retrying, checkpointing",
        (f"{_SUPERVISOR}::test_cancel_before_the_start_starts_nothing",),
        tuple(f"cancel while {state}" for state in ("starting", "running", "retrying", "checkpointing")),
        ("cancels",),
    ),
    Fault("cancel as the APIs die", kinds=("cancel as the APIs are killed",), planned=("cancels",)),
    Fault(
        "clock of agents, supervisors and ranks jumps by an hour and a day, forward and back",
        ("api/test_clocks.py::test_a_supervisor_s_clock_is_displayed_and_not_believed",),
        planned=("clock of the agents",),
    ),
    Fault(
        "clock of an API jumps by an hour and a day, forward and back",
        ("api/test_clocks.py::test_the_clock_of_an_api_host_does_not_count",),
        planned=("clock of one API",),
    ),
    Fault(
        "clock of the database jumps by an hour and a day, forward and back",
        ("api/test_clocks.py::test_a_clock_that_jumps_loses_no_run",),
        planned=("clock of the database",),
    ),
    Fault("everything killed at once, as by a loss of power", kinds=("everything killed",)),
)


def section(soaks: Sequence[Record], planned: Sequence[Record]) -> str:
    """Return the table of all faults, and what happened in the planned ones, in their own words."""
    head = ["## Every fault", "", "| fault | tests of the suite | in soaks | planned |", "|---|---|--:|---|"]
    named = {record["scenario"]: record for record in planned}
    rows = [f"| {f.what} | {_tests(f)} | {_hits(f, soaks)} | {_planned(f, named)} |" for f in FAULTS]
    return "\n".join([*head, *rows])


def _tests(fault: Fault) -> str:
    return "<br>".join(f"`{test.rpartition('/')[2].replace('::', '` `')}`" for test in fault.tests) or "-"


def _hits(fault: Fault, soaks: Sequence[Record]) -> str:
    return (
        str(sum(record["faults"].get(kind, 0) for record in soaks for kind in fault.kinds)) if fault.kinds else "-"
    )


def _planned(fault: Fault, named: Mapping[str, Record]) -> str:
    return "<br>".join(f"{name}: {_outcome(named.get(name))}" for name in fault.planned) or "-"


def _outcome(record: Record | None) -> str:
    if record is None:
        return "not run"
    wrong = len(record["violations"])
    return "not completed" if record["failed"] else f"{wrong or 'no'} violation{'s' * (wrong > 1)}"


def told(planned: Sequence[Record]) -> str:
    """Return what happened in the planned faults."""
    lines = ["## Planned faults", "", *_COUNTS_HEAD]
    for r in planned:
        ends = ", ".join(f"{count} {state}" for state, count in sorted(r["runs"].items()))
        cells = (r["scenario"], r["commit"], ends, r["attempts"], f"{r['steps']:,}", r["evaluations"], _outcome(r))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for record in planned:
        lines += ["", f"**{record['scenario']}**", ""]
        lines += [f"- done (seconds from the beginning): {'; '.join(record['strikes'])}"]
        lines += [f"- {text}" for text in record["told"]]
    return "\n".join(lines)


_COUNTS_HEAD = (
    "| scenario | commit | runs | attempts | steps stored | evaluations | result |",
    "|---|---|---|--:|--:|--:|---|",
)
