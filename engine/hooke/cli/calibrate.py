"""`hooke calibrate`: measure network, memory and gradients of this machine, and compare with an earlier time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hooke.calibration.documents import Calibration, ComputeRate, Curve, Duration, Exchanging, Line
    from hooke.calibration.request import WorkloadRequest

USUAL_WORKLOAD = "digits-mlp"


def calibrate(  # noqa: PLR0913 - one parameter per option of the command
    *,
    workers: Annotated[int, typer.Option(min=1, max=4096, help="Ranks that measure.")] = 2,
    workload: Annotated[
        list[str] | None,
        typer.Option(help=f"Workload whose gradients are timed; may be repeated. By default {USUAL_WORKLOAD}."),
    ] = None,
    precision: Annotated[
        list[str] | None, typer.Option(help="fp32 or bf16; may be repeated. By default fp32.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Time for the measurements, without start-up.")] = 25.0,
    save: Annotated[Path | None, typer.Option(dir_okay=False, help="Write the calibration to this file.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Show differences from the calibration in this file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="File of an agent, whose launcher starts the ranks."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for files of the ranks, visible from all their hosts.",
            show_default="calibrations in the home folder of --config, else a temporary one",
        ),
    ] = None,
) -> None:
    """Measure latency, bandwidth, all-reduces, memory and gradients of this machine, or of a cluster (--config).

    Run it while nothing else runs: the result says if something did. The status is 0 also if there is drift, 1 if
    the measurement failed, 2 if an option is wrong.
    """
    from hooke.calibration import documents, drift
    from hooke.calibration.starting import calibrate as measure
    from hooke.cli.outputs import check_writable
    from hooke.cli.site_launcher import ends_in_order, launcher_of
    from hooke.errors import HookeError

    wanted = _requests(workload or [USUAL_WORKLOAD], precision or ["fp32"])
    check_writable(save, "--save")
    try:
        before = documents.load(against) if against else None
        launcher, place = launcher_of(config, folder, seconds)
        with ends_in_order():
            found = measure(workers, wanted, seconds, launcher, say=_say, place=place)
    except HookeError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    if save is not None:
        save.write_text(documents.text(found), encoding="utf-8")
    print(documents.text(found) if as_json else table(found))
    if before is not None:
        said = [f"compared with {against}:", *(f"- {text}" for text in drift.told(before, found))]
        print("\n".join(said), file=sys.stderr if as_json else sys.stdout)


def _say(text: str) -> None:
    print(f"{text} ...", file=sys.stderr, flush=True)


def _requests(workloads: list[str], precisions: list[str]) -> list[WorkloadRequest]:
    from hooke.calibration.request import WorkloadRequest
    from hooke.catalogue.workload import workload as known
    from hooke.errors import NotFound

    for name in workloads:
        try:
            known(name)
        except NotFound as error:
            raise typer.BadParameter(str(error), param_hint="--workload") from None
    if wrong := [each for each in precisions if each not in ("fp32", "bf16")]:
        raise typer.BadParameter(f"{wrong[0]!r} is neither fp32 nor bf16", param_hint="--precision")
    return [
        WorkloadRequest.model_validate({"name": name, "precision": precision})
        for name in dict.fromkeys(workloads)
        for precision in dict.fromkeys(precisions)
    ]


def table(found: Calibration) -> str:
    """Return a calibration as text: every time with its standard error."""
    from hooke.cli.text import columns

    hosts = f"{found.hosts} host{'s' * (found.hosts != 1)}"
    head = [
        ("machine", f"{found.hardware.get('cpu', 'unknown')}, {found.cores} cores"),
        ("measured", f"{found.at:%Y-%m-%d %H:%M} UTC, {found.workers} ranks on {hosts}, in {found.took:.0f} s"),
        ("MPI", found.versions.get("mpi", "unknown")),
        ("start-up", _time(found.start)),
    ]
    parts = [columns(head)]
    if found.shared:
        parts.append(
            f"Other processes were running (load {found.load:.1f}): an idle machine would give other figures."
        )
    if found.oversubscribed:
        parts.append("More ranks than cores: times are what operations add to steps of ranks that share cores.")
    parts.append(columns(_curves(found.curves)))
    parts += [columns(_lines(found.curves))] if any(curve.line for curve in found.curves) else []
    parts += [_compute(rate) for rate in found.compute]
    return "\n\n".join(parts)


def _curves(curves: list[Curve]) -> list[tuple[str, ...]]:
    from hooke.cli.text import size

    rows: list[tuple[str, ...]] = [("OPERATION", "RANKS", "BYTES", "TIME", "BYTES PER SECOND")]
    for curve in curves:
        for p in sorted(curve.points, key=lambda p: (p.ranks, p.pair or (), p.bytes)):
            who = f"{p.pair[0]}-{p.pair[1]}" if p.pair else str(p.ranks)
            rate = f"{size(p.bytes / p.seconds)}/s" if p.seconds > 0 else "-"
            rows.append((curve.name, who, size(p.bytes), _time(p), rate))
    return rows


def _lines(curves: list[Curve]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("FITTED LINE", "PER MESSAGE (alpha)", "PER BYTE (beta)", "MEDIAN MISFIT")]
    for curve in curves:
        if curve.line is not None:
            rows.append((curve.name, *_coefficients(curve.line), f"{100 * curve.line.misfit:.0f} %"))
    return rows


def _coefficients(line: Line) -> tuple[str, str]:
    from hooke.cli.text import seconds

    alpha = f"{seconds(line.alpha)} +- {seconds(line.alpha_error)}"
    return alpha, f"{line.beta * 1e9:.3g} +- {line.beta_error * 1e9:.2g} ns"


def _among(found: Exchanging) -> list[tuple[str, str]]:
    return [
        ("gradient after an all-reduce of its weights", _time(found.after)),
        ("such an all-reduce, on the last rank", _time(found.last)),
        ("it adds to a step", _time(found.added)),
        (f"it adds to {found.period} gradients", _time(found.late)),
        ("in the background it adds to a gradient", _time(found.behind)),
        *([(f"and to {found.hidden_period} gradients", _time(found.hidden))] if found.hidden else []),
        *([("a message of all weights to the next rank adds", _time(found.shifted))] if found.shifted else []),
        ("a read of a window and an addition add", _time(found.accessed)),
    ]


def _compute(rate: ComputeRate) -> str:
    from hooke.cli.text import columns, percent, seconds

    jitter = rate.jitter
    rows = [(f"gradient, batch {p.batch}", _time(p)) for p in rate.points]
    rows += [
        ("per step", f"{seconds(rate.line.alpha)} +- {seconds(rate.line.alpha_error)}"),
        ("per sample", f"{seconds(rate.line.beta)} +- {seconds(rate.line.beta_error)}"),
        (f"step in a run, without exchange, batch {rate.loop_batch}", _time(rate.loop)),
        (f"gradient alone, batch {rate.loop_batch}", _time(rate.alone)),
        ("while all ranks compute", f"{rate.sharing:.2f} times as long as alone"),
        ("jitter from gradient to gradient", percent(jitter.independent)),
        (f"jitter kept for {jitter.steps} gradients", percent(jitter.slow)),
        ("jitter common to all ranks", percent(jitter.common)),
        ("difference between ranks", percent(jitter.between_ranks)),
    ]
    rows += _among(rate.exchanging) if rate.exchanging else []
    title = f"{rate.workload}, {rate.precision}, {rate.elements:,} weights (sigma of the logarithm for jitter)"
    return f"{title}\n{columns(rows, '  ')}"


def _time(known: Duration) -> str:
    from hooke.cli.text import seconds

    return f"{seconds(known.seconds)} +- {seconds(known.error)}"
