"""The commands `hooke queue`, `hooke queue-policy`, `hooke priority` and `hooke replay-queue`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from hooke.cli.experiment_ids import ExperimentArgument, id_of
from hooke.cli.remote import ApiOption, HomeOption, Remote

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def queue(
    cluster: Annotated[
        str | None, typer.Argument(metavar="CLUSTER", help="Name of the cluster.", show_default="all")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what waits on each cluster: position, reason, predicted start and end."""
    remote = _connect(api, home)
    with _told():
        names = [cluster] if cluster else [each["name"] for each in remote.get("/clusters")["items"]]
        queues = [remote.get(f"/clusters/{_quoted(name)}/queue") for name in names]
    if as_json:
        print(json.dumps(queues, indent=2))
        return
    print("\n\n".join(_shown(each) for each in queues) or "no cluster is registered")


def queue_policy(  # noqa: PLR0913, PLR0917 - the options of a command
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")],
    order: Annotated[
        str | None, typer.Option("--order", help="first-come, priority, fair-share or shortest-service.")
    ] = None,
    ageing: Annotated[
        float | None, typer.Option("--ageing", help="priority: minutes of waiting per point; 0: none.")
    ] = None,
    half_life: Annotated[
        float | None, typer.Option("--half-life", help="fair-share: hours after which use counts half.")
    ] = None,
    patience: Annotated[
        float | None, typer.Option("--patience", help="shortest-service: hours until one goes first; 0: never.")
    ] = None,
    max_waiting: Annotated[
        int | None, typer.Option("--max-waiting", help="Waiting runs of a user; 0: no limit.")
    ] = None,
    max_active: Annotated[
        int | None, typer.Option("--max-active", help="Active runs of a user; 0: no limit.")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Show or change the policy of a cluster's queue; options that are not given stay as they are."""
    remote = _connect(api, home)
    given = {
        "order": order,
        "ageing_minutes": ageing,
        "half_life_hours": half_life,
        "patience_hours": patience,
        "max_waiting_runs": max_waiting,
        "max_active_runs": max_active,
    }
    if wrong := [name for name, value in given.items() if isinstance(value, float) and not math.isfinite(value)]:
        raise typer.BadParameter("give a number", param_hint=f"--{wrong[0].rpartition('_')[0].replace('_', '-')}")
    changes = {name: value or None for name, value in given.items() if value is not None}
    with _told():
        policy = remote.get(f"/clusters/{_quoted(cluster)}/queue")["policy"]
        if changes:
            policy = remote.put(f"/clusters/{_quoted(cluster)}/policy", policy | changes)
    from hooke.cli.text import columns

    print(columns([(name, "none" if value is None else str(value)) for name, value in policy.items()]))


def priority(
    experiment: ExperimentArgument,
    value: Annotated[int, typer.Argument(metavar="PRIORITY", min=-100, max=100, help="A higher one goes first.")],
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Change the priority of an experiment that waits.

    It counts on clusters whose policy is `priority`, and among the experiments of a user under `fair-share`. For a
    negative priority write `hooke priority EXPERIMENT -- -5`.
    """
    remote = _connect(api, home)
    with _told():
        told = remote.put(f"/experiments/{_quoted(id_of(remote, experiment))}/priority", {"priority": value})
    print(f"experiment {told['number']} ({told['name']}) has priority {told['priority']}")
    for each in told["waiting"]:
        print(f"  on {each['cluster']}: position {each['position']}, {each['reason']}")


def replay_queue(  # noqa: PLR0913, PLR0917 - the options of a command
    trace: Annotated[
        Path | None,
        typer.Argument(metavar="TRACE.csv", help="Job trace in the Helios format.", show_default="none"),
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Replay the history of this cluster.")] = None,
    synthetic: Annotated[
        int | None, typer.Option("--synthetic", help="Replay a synthetic trace with this seed.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, help="Slots.", show_default="most that were in use at once")
    ] = None,
    vc: Annotated[str | None, typer.Option("--vc", help="Only jobs of this virtual cluster.")] = None,
    resource: Annotated[str, typer.Option("--resource", help="What slots count: gpu, cpu or auto.")] = "auto",
    figure: Annotated[Path | None, typer.Option("--figure", help="Write a figure of the waits (SVG).")] = None,
    api: ApiOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a job trace under every policy: distributions of waiting time and slowdown.

    The trace is a file of the Helios traces or in their format, the history of one of your clusters (--cluster),
    or a synthetic one (--synthetic). Waits are simulated: jobs keep the durations that they had.
    """
    from hooke_api.local import replaying

    if sum(each is not None for each in (trace, cluster, synthetic)) != 1:
        raise typer.BadParameter("give one of: a trace, --cluster, --synthetic")
    if resource not in ("auto", "gpu", "cpu"):
        raise typer.BadParameter(f"--resource is gpu, cpu or auto, not {resource!r}")
    with _told():
        if cluster is not None:
            text = _connect(api, home).get(f"/clusters/{_quoted(cluster)}/trace.csv")
            found = replaying.of_history(text, cluster)
        elif synthetic is not None:
            found = replaying.of_synthetic(synthetic)
        else:
            assert trace is not None  # noqa: S101 - one of the three was given
            found = replaying.of_file(trace, vc, resource)
        replaying.show(found, slots, figure, as_json)


def _connect(api: str | None, home: Path | None) -> Remote:
    with _told():
        return Remote.connect(api, home)


@contextmanager
def _told() -> Iterator[None]:
    """End the command with status 1 and one sentence if something that a user can remedy fails."""
    from hooke.errors import HookeError

    try:
        yield
    except HookeError as error:
        print(f"hooke: {error}", file=sys.stderr)
        raise typer.Exit(1) from error


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _shown(queue: dict[str, Any]) -> str:
    """Return one queue as text."""
    from hooke.cli.text import columns

    state = "drained" if queue["drained"] else "online" if queue["online"] else "offline"
    head = (
        f"{queue['cluster']}: {state}, {queue['free']} of {queue['slots']} slots free, {queue['policy']['order']}"
    )
    lines = [head]
    for each in queue["active"]:
        runs = f"{each['runs']} run" + "s" * (each["runs"] != 1)
        if sent := each.get("sent"):  # servers of before do not say
            runs += f" ({sent} not begun)"
        lines.append(
            f"  active: experiment {each['number']} of {each['user']}, {runs}, ends {_when(each['ends'])}"
        )
    if not queue["entries"]:
        return "\n".join([*lines, "  nothing waits"])
    rows = [("POS", "EXPERIMENT", "USER", "RUNS", "PRIORITY", "STARTS", "ENDS", "REASON")]
    for each in queue["entries"]:
        rows.append(
            (
                str(each["position"]), f"{each['number']} {each['name']}", each["user"], str(each["runs"]),
                str(each["priority"]), _when(each["starts"]), _when(each["ends"]), each["reason"],
            )
        )  # fmt: skip
    return "\n".join([*lines, columns(rows, "  ")])


def _when(span: dict[str, str] | None) -> str:
    """Return a predicted time with its interval, in local time; the day where it is not today."""
    if span is None:
        return "unknown"
    times = [datetime.fromisoformat(span[name]).astimezone() for name in ("at", "earliest", "latest")]
    now = datetime.now(UTC).astimezone()
    at, early, late = (f"{each:{_form(each, now)}}" for each in times)
    return at if (times[2] - times[1]).total_seconds() < 60 else f"{at} ({early}-{late})"


def _form(at: datetime, now: datetime) -> str:
    if at.date() == now.date():
        return "%H:%M"
    return "%m-%d %H:%M" if at.year == now.year else "%Y-%m-%d %H:%M"
