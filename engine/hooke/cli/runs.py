"""`hooke runs`: list runs; cancel, retry or abandon them; download their checkpoints; simulate their speeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from hooke.cli.experiment_ids import id_of, path
from hooke.cli.remote import ApiOption, HomeOption, Remote, tell
from hooke.cli.text import columns, plain
from hooke.errors import ArgumentError, HookeError

app = typer.Typer(
    help="List runs; cancel, retry or abandon them; download their checkpoints; simulate their speeds.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, run_...")]
FAILED = ("failed_infra", "timed_out")
"""States without a fault of the run itself."""
RISK = (
    "Its processes may still be running: then they keep using their cluster until they reach the server, which "
    "ends them, and another attempt there would share cores with them."
)
_PAGE = 500


def _post(remote: Remote, run: str, what: str, body: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = remote.post(f"/runs/{quote(run, safe='')}/{what}", body)
    return found


def _runs(remote: Remote, experiment: str) -> list[dict[str, Any]]:
    """Return every run of an experiment, given by id or number, in the order of its expansion."""
    experiment = id_of(remote, experiment)
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = remote.get(f"/runs?experiment={quote(experiment, safe='')}&limit={_PAGE}{cursor}")
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={quote(page['next_cursor'], safe='')}"


@app.command("list")
def list_(
    experiment: Annotated[
        str | None, typer.Argument(metavar="EXPERIMENT", help="Id, exp_..., or number of an experiment.")
    ] = None,
    chosen: Annotated[
        str | None,
        typer.Option("--filter", help="Of all runs: 'algorithm = sync-easgd and test_accuracy > 0.98'."),
    ] = None,
    sort: Annotated[str | None, typer.Option(help="Such as -test_accuracy; a minus: the largest first.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_PAGE, help="Runs that a filter or an order shows.")] = 50,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """List the runs of an experiment, or of all that fit a filter, with state, attempt and figures."""

    def told(remote: Remote) -> str:
        if chosen is not None or sort is not None:
            return _queried(remote, experiment, {"filter": chosen, "sort": sort, "limit": limit})
        if experiment is None:
            raise ArgumentError("give an experiment, or --filter to look for runs of all experiments")
        rows = [("RUN", "NUMBER", "VARIANT", "CLUSTER", "SEED", "STATE", "ATTEMPT", "WAITS")]
        for run in _runs(remote, experiment):
            numbers = (str(run[name]) for name in ("number", "seed", "attempt"))
            number, seed, attempt = numbers
            waits = run["waiting"]["reason"] if run["waiting"] else ""
            rows.append((run["id"], number, run["variant"], run["cluster"], seed, run["state"], attempt, waits))
        return columns(rows, "  ") if len(rows) > 1 else f"no run is of the experiment {experiment}"

    tell("runs", told, api, home)


def _queried(remote: Remote, experiment: str | None, asked: dict[str, Any]) -> str:
    """Return the first runs of a query as a table."""
    if experiment is not None:
        asked["experiment"] = id_of(remote, experiment)
    page = remote.get(f"/runs?{urlencode({name: value for name, value in asked.items() if value is not None})}")
    figures = ("accuracy", "test_accuracy", "time_to_target")
    rows = [("RUN", "VARIANT", "CLUSTER", "WORKERS", "SEED", "STATE", *(name.upper() for name in figures))]
    for run in page["items"]:
        known = ("-" if run[name] is None else f"{run[name]:.4g}" for name in figures)
        settings = (run["id"], run["variant"], run["cluster"], str(run["workers"]), str(run["seed"]), run["state"])
        rows.append((*settings, *known))
    more = "\nthere are more: --limit shows up to 500, GET /runs.csv?filter= all" if page["next_cursor"] else ""
    return columns(rows, "  ") + more if len(rows) > 1 else "no run matches"


@app.command()
def cancel(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Id of the run, run_...")] = None,
    experiment: Annotated[
        str | None, typer.Option(help="All runs of this experiment that have not ended, by its id or number.")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Cancel a run, or all of an experiment: at once if it is queued, otherwise within seconds."""

    def told(remote: Remote) -> str:
        if experiment is not None and run is None:
            found = remote.post(path(id_of(remote, experiment), "/cancel"))
            ends = "" if found["finished_at"] else ", and ends"
            return f"experiment {found['number']} is {found['state']}{ends}"
        if run is None or experiment is not None:
            raise ArgumentError("give the id of a run, or --experiment with the id or number of an experiment")
        state = _post(remote, run, "cancel")["state"]
        return f"{run} is {state}" + ("" if state == "cancelled" else ", and ends")

    tell("runs", told, api, home)


@app.command()
def retry(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Id of the run, run_...")] = None,
    experiment: Annotated[
        str | None,
        typer.Option(help="All runs of this experiment that timed out or failed because of the infrastructure."),
    ] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Start over instead of continuing from the latest checkpoint.")
    ] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Give a run that has ended without success another attempt, from its latest checkpoint."""

    def told(remote: Remote) -> str:
        if (run is None) == (experiment is None):
            raise ArgumentError("give the id of a run, or --experiment with the id or number of an experiment")
        ids = [run] if run else [each["id"] for each in _runs(remote, experiment or "") if each["state"] in FAILED]
        views = [_post(remote, each, "retry", {"resume": not from_start}) for each in ids if each]
        if not views:
            return "no run of the experiment has timed out or failed because of the infrastructure"
        return "\n".join(f"{view['id']} is queued for attempt {view['attempt']}" for view in views)

    tell("runs", told, api, home)


@app.command()
def abandon(
    run: RunArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """End a lost run, or one that was sent to a cluster that is offline, without proof that it is dead."""

    def told(remote: Remote) -> str:
        typer.echo(RISK, err=True)
        if not yes and not typer.confirm(f"Abandon {run}?", err=True):
            raise ArgumentError("nothing was changed")
        return f"{run} is {_post(remote, run, 'abandon')['state']}"

    tell("runs", told, api, home)


@app.command()
def download(
    run: RunArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to write `checkpoints/SAMPLES/` into.")
    ] = Path(),
    samples: Annotated[
        int | None, typer.Option(help="Samples of the checkpoint.", show_default="the newest one")
    ] = None,
    attempt: Annotated[
        int | None, typer.Option(help="Attempt that wrote it.", show_default="the latest one that has any")
    ] = None,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Download a checkpoint: the agent of its cluster sends it to the server, which keeps it for a day."""

    def told(remote: Remote) -> str:
        from hooke.cli.download import download_checkpoint

        folder = download_checkpoint(
            remote, run, out, attempt=attempt, samples=samples, told=lambda text: typer.echo(text, err=True)
        )
        return f"{folder} has the checkpoint; `hooke run SPEC --run-dir {out} --resume` goes on from it"

    tell("runs", told, api, home)


@app.command()
def cluster(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Id of a run, run_..., or its folder (`hooke run --run-dir`).")
    ],
    like: Annotated[
        str | None,
        typer.Option(help="Other constants: the calibration of this cluster; for `hooke run` its file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    api: ApiOption = None,
    home: HomeOption = None,
) -> None:
    """Print a virtual cluster whose workers have the measured speeds of those of a real run."""
    from hooke.cli import run_cluster
    from hooke.comparison.measured_speeds import calibrated

    def shown(found: dict[str, Any]) -> str:
        return run_cluster.text(found if like is None else calibrated(found, like), as_json)

    if not Path(run).is_dir():
        tell("runs", lambda remote: shown(run_cluster.of_server(remote, run)), api, home)
        return
    try:
        print(plain(shown(run_cluster.of_folder(Path(run)))))
    except HookeError as error:
        typer.echo(f"hooke runs: {plain(str(error))}", err=True)
        raise typer.Exit(1) from None
