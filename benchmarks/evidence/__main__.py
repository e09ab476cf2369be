"""The evidence: the paper's comparison (replication) and our own (co-design), measured on emulated hosts.

    python -m benchmarks.evidence run [--minutes 30] [--only TEXT ...] [--again]    run what is missing
    python -m benchmarks.evidence pages [--kept]                                    write docs/results/
    python -m benchmarks.evidence list                                              what is missing, in order

`run` may be interrupted at any time and resumes where it ended; `--minutes`: start no run after that time.
`--only`: runs with that key, or with the text in their title. Every kind of machine has a folder, named by
processor, generation and cores. Results are stored in `.results/evidence/MACHINE/` (not in version control);
`pages` adds them to the raw data next to the pages, and generates the pages from these; runs that are in either
are not repeated. `--kept`: the pages of all machines, from the present raw data. `--quick` (before the command): 2
hosts, few methods, one seed, pages in `.results/quick/`. Emulated hosts need root; without it, one worker and a
virtual cluster are measured. If bf16 is not faster than fp32, everything is measured in fp32. Needs HOOKE_DATA.
Leave the machine idle while it runs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from benchmarks.evidence import machine, precision
from benchmarks.evidence.cells import Cell, cells
from benchmarks.evidence.matrix import FULL, QUICK, Matrix, without_bf16, without_data, without_root
from benchmarks.evidence.paces import CHIP_DATA
from benchmarks.evidence.records import DATA
from benchmarks.evidence.store import ROOT, Store
from benchmarks.netlab import lab as labs

PAGES = ROOT / "docs" / "results"
RESULTS = ROOT / ".results"
CANNOT = 2


def main() -> int:
    """Run the command line; return the exit status."""
    options = _options()
    hardware = machine.hardware()
    target = PAGES / machine.name_of(hardware)
    store = Store(RESULTS / "evidence" / target.name, published=target / DATA)
    if options.quick:
        store = Store(RESULTS / "quick", f"{store.command} --quick")
        target = store.folder / "pages"
    matrix = QUICK if options.quick else FULL
    if options.command == "pages":
        return _pages(matrix, store, target, options)
    if reason := labs.lacking():
        print(
            f"no emulated hosts: {reason}. One worker and a virtual cluster are measured instead", file=sys.stderr
        )
        matrix = without_root(matrix)
    whole, matrix = matrix, without_data(matrix, _data_sets())
    if matrix != whole:
        print(f"HOOKE_DATA has no {CHIP_DATA}: the partition of a chip is not run", file=sys.stderr)
    if precision.chosen(hardware, store.evidence().sessions.values()) == "fp32":
        print("bf16 is not faster than fp32 on this processor: everything computes in fp32", file=sys.stderr)
        matrix = without_bf16(matrix)
    if options.command == "list":
        return _list(matrix, store, options)
    return _run(matrix, store, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="about five minutes, pages in .results/quick/pages/")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run missing runs, most important first")
    run.add_argument("--minutes", type=float, help="start no run after this number of minutes")
    run.add_argument(
        "--again", action="store_true", help="repeat the runs selected by --only even if their results exist"
    )
    for command in (run, commands.add_parser("list", help="list missing runs")):
        command.add_argument(
            "--only", nargs="*", default=[], help="runs whose key or title contains one of these texts"
        )
    pages = commands.add_parser("pages", help="write the pages from the results so far")
    pages.add_argument("--kept", action="store_true", help="from the raw data next to the pages")
    return parser.parse_args()


def _data_sets() -> frozenset[str]:
    root = Path(os.environ.get("HOOKE_DATA") or "/nowhere")
    return frozenset(path.name for path in root.iterdir()) if root.is_dir() else frozenset()


def _chosen(cell: Cell, words: list[str]) -> bool:
    return not words or any(word in cell.title or word == cell.key for word in words)


def _run(matrix: Matrix, store: Store, options: argparse.Namespace) -> int:
    from hooke.errors import HookeError

    from benchmarks.evidence.running import BrokenClock, run_matrix

    if not (Path(os.environ.get("HOOKE_DATA") or "/nowhere") / "mnist").is_dir():
        print(
            "no data: HOOKE_DATA must be a folder that contains mnist/ with its four files (docs/workloads.md)",
            file=sys.stderr,
        )
        return CANNOT
    if options.again and not options.only:
        print("--again needs --only, which selects the runs to repeat", file=sys.stderr)
        return CANNOT
    # Both end a run's ranks and remove the hosts; shells start background jobs with SIGINT ignored.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    try:
        ran = run_matrix(matrix, store, options.minutes, lambda c: _chosen(c, options.only), options.again)
    except KeyboardInterrupt:
        print("ended; the results are stored, the next start continues from them", file=sys.stderr)
        return 130
    except (labs.LabError, HookeError, BrokenClock) as error:
        print(f"evidence: {error}", file=sys.stderr)
        return 1
    print(f"{ran} runs; {len(store.evidence().runs)} of {matrix.least} or more exist")
    return 0


def _list(matrix: Matrix, store: Store, options: argparse.Namespace) -> int:
    evidence = store.evidence()
    for cell in cells(matrix, evidence.trials):
        if cell.key not in evidence.runs and _chosen(cell, options.only):
            print(cell.key, cell.title)
    return 0


def _pages(matrix: Matrix, store: Store, target: Path, options: argparse.Namespace) -> int:
    from benchmarks.evidence.pages import index, machines, write
    from benchmarks.evidence.summary_figures import draw
    from benchmarks.evidence.summary_page import FIGURES

    targets = [target]
    if options.kept and not options.quick and not (targets := list(machines(PAGES))):
        print(f"no raw data below {PAGES}", file=sys.stderr)
        return CANNOT
    try:
        written = [path for folder in targets for path in write(matrix, None if options.kept else store, folder)]
        if not options.quick:
            draw(index(PAGES), PAGES / FIGURES)
    except FileNotFoundError as error:
        print(f"nothing has been run yet: {error}", file=sys.stderr)
        return CANNOT
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: make setup-dev", file=sys.stderr)
        return CANNOT
    print("wrote " + ", ".join(str(path.relative_to(ROOT)) for path in written if path.suffix == ".md"))
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # `list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)
