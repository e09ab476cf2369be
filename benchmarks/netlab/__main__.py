"""A cluster in a box: emulated hosts with shaped links, for measuring and for trying multi-host starts.

    python -m benchmarks.netlab up --hosts 8 --rate 1gbit [--hold]    --hold: until Ctrl-C, or until it dies
    python -m benchmarks.netlab calibrate [--out FILE]                latency, bandwidth, all-reduce; as JSON
    python -m benchmarks.netlab hooke [--workers 8] [--json] ... SPEC `hooke run` on the hosts
    python -m benchmarks.netlab compare [--workers 8] SPEC [VARIANT ...]  variants of an experiment in turns
    python -m benchmarks.netlab run [--ranks 8] -- PROGRAM ...        any program, as MPI ranks
    python -m benchmarks.netlab down

Needs root and the programs ip, tc and unshare.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.netlab import lab as labs

BAD_SPEC = 2


def main() -> int:
    """Do what the command line says; return the exit status."""
    options, words = _options()
    try:
        return int(COMMANDS[options.command](options, words))
    except labs.LabError as error:
        print(f"netlab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _options() -> tuple[argparse.Namespace, list[str]]:
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="benchmarks.netlab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", default="lab", help="of the lab, where there are several")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="make the hosts")
    up.add_argument("--hosts", type=int, required=True)
    up.add_argument("--rate", default="1gbit", help="of every link, each way: 1gbit, 200mbit")
    up.add_argument("--hold", action="store_true", help="stay, and take them down at the end, however it comes")
    commands.add_parser("down", help="end what runs on the hosts and remove them")
    calibrate = commands.add_parser("calibrate", help="measure the network")
    calibrate.add_argument("--out", type=Path, default=Path(".results/netlab/calibration.json"))
    compare = commands.add_parser(
        "compare", help="run variants of an experiment in turns, and compare their steps"
    )
    compare.add_argument("spec", type=Path, help="an experiment, YAML or JSON")
    compare.add_argument("variants", nargs="*", help="all of them if none is named")
    compare.add_argument("--workers", type=int, help="one per host if not given")
    compare.add_argument("--rounds", type=int, default=3)
    compare.add_argument("--out", type=Path, help="write every figure to this JSON file")
    run = commands.add_parser("run", help="run `-- PROGRAM ...` as MPI ranks, or `-- hooke run ...`")
    run.add_argument("--ranks", type=int, help="one per host if not given")
    hooke = commands.add_parser("hooke", help="run a Hooke specification; the options of `hooke run`")
    _hooke_options(hooke)
    return parser.parse_args(arguments[:split]), arguments[split + 1 :]


def _hooke_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="a run or an experiment, YAML or JSON")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--variant")
    parser.add_argument("--cluster")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    parser.add_argument("--run-dir", type=Path, help="folder of journals and logs; kept")
    parser.add_argument("--save", type=Path, help="write final center and weights to this .npz")
    parser.add_argument("--trace", type=Path, help="write every rank's timeline to this .json or .json.gz")


def _up(options: argparse.Namespace, _words: list[str]) -> int:
    if not options.hold:
        with labs.locked(options.name):
            made = labs.up(options.hosts, options.rate, options.name)
        _say(made)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with labs.held(options.hosts, options.rate, options.name) as made:
        _say(made)
        while True:
            time.sleep(3600)


def _say(made: labs.Lab) -> None:
    from hooke.hardware.description import usable_cores

    from benchmarks.netlab.starting import oversubscription

    note = oversubscription(made.hosts, usable_cores())
    print(f"{made.name}-1 to {made.name}-{made.hosts}, {made.rate} each way ({note})", flush=True)


def _down(options: argparse.Namespace, _words: list[str]) -> int:
    with labs.locked(options.name):
        print(f"removed {len(labs.down(options.name))} namespaces")
    return 0


def _calibrate(options: argparse.Namespace, _words: list[str]) -> int:
    from benchmarks.netlab.calibrate import calibrate, lines

    with labs.locked(options.name):
        found = calibrate(labs.find(options.name))
    print("\n".join(lines(found)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _compare(options: argparse.Namespace, _words: list[str]) -> int:
    from hooke.cli.document import read
    from hooke.errors import ArgumentError, SpecError

    from benchmarks.netlab.compare import compare, lines

    try:
        with labs.locked(options.name):
            lab = labs.find(options.name)
            found = compare(
                lab, read(options.spec), options.variants, options.workers or lab.hosts, options.rounds
            )
    except (SpecError, ArgumentError) as error:
        return _faults(error)
    print("\n".join(lines(found)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _faults(error: Exception) -> int:
    faults = getattr(error, "faults", None)
    said = [f"{each.pointer or '/'}: {each.message}" for each in faults] if faults else [str(error)]
    print("\n".join(said), file=sys.stderr)
    return BAD_SPEC


def _run(options: argparse.Namespace, words: list[str]) -> int:
    if words[:2] == ["hooke", "run"]:
        parser = argparse.ArgumentParser(prog="benchmarks.netlab run -- hooke run")
        _hooke_options(parser)
        return _hooke(parser.parse_args(words[2:], argparse.Namespace(name=options.name)), [])
    if not words:
        raise labs.LabError("nothing to run: python -m benchmarks.netlab run -- PROGRAM ...")
    from benchmarks.netlab.running import program

    with labs.locked(options.name):
        lab = labs.find(options.name)
        status, cost = program(lab, options.ranks or lab.hosts, words)
    print(json.dumps(cost), file=sys.stderr)
    return status if status >= 0 else 128 - status


def _hooke(options: argparse.Namespace, _words: list[str]) -> int:
    from hooke.cli import outcome
    from hooke.cli.document import load_run, read
    from hooke.errors import ArgumentError, SpecError

    from benchmarks.netlab.running import hooke

    try:
        spec = load_run(read(options.spec), options.variant, options.cluster, options.workers, "mpi", options.seed)
    except (SpecError, ArgumentError) as error:
        return _faults(error)
    folder = options.run_dir or Path(tempfile.mkdtemp(prefix="hooke-run-"))
    with labs.locked(options.name):
        report, found = hooke(labs.find(options.name), spec, folder, options.save, options.trace)
    print(outcome.as_json(found) if options.json else f"{outcome.table(found)}\n{_besides(found)}")
    if report.state != "succeeded":
        print(f"{report.state}: {report.why}; its journals and logs: {folder}", file=sys.stderr)
    return 0 if report.state == "succeeded" else 1


def _besides(found: dict[str, Any]) -> str:
    link, wire = found["link"], found["wire_bytes"]
    told = f"{wire / 1e6:.1f} MB by Hooke's counter" if wire is not None else "no counter of Hooke's"
    return (
        f"links carried {link['frame_bytes'] / 1e6:.1f} MB, {told}; {link['dropped']} packets dropped; "
        f"{found['emulated']['note']}"
    )


COMMANDS = {"up": _up, "down": _down, "calibrate": _calibrate, "compare": _compare, "run": _run, "hooke": _hooke}

if __name__ == "__main__":
    sys.exit(main())
