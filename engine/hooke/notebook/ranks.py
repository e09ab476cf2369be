"""Real ranks of a workload that exists in a program only: `python -m mpi4py -m hooke.notebook.ranks FOLDER`.

The program writes model and data to the folder of the run, and every rank reads them from there before it trains.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
from pathlib import Path

from hooke.catalogue.workload import Workload, offered
from hooke.notebook.needed import needed
from hooke.objective.given_workload import GivenWorkload, workload_of

FILE = "workload.pickle"
RANK = ("-m", "mpi4py", "-m", "hooke.notebook.ranks")


def program(folder: Path, given: type[Workload] | None) -> tuple[str, ...] | None:
    """Write the workload for the ranks of a run, and return their program; None: that of every run.

    Raises ArgumentError without cloudpickle, which can write functions and classes of a notebook.
    """
    if given is None or not issubclass(given, GivenWorkload):
        return None
    cloudpickle = needed("cloudpickle", "`world`: writing model and data for real ranks")
    fresh = dataclasses.replace(given.given)  # without what was derived from it
    (folder / FILE).write_bytes(cloudpickle.dumps((given.name, fresh)))
    return RANK


def tidy(folder: Path) -> None:
    """Remove the workload of a run that has ended: the data of all runs of a comparison would fill a disk."""
    (folder / FILE).unlink(missing_ok=True)


def main() -> None:
    """Offer the workload of the folder, and train."""
    from hooke.loop import train

    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("--")]
    name, given = pickle.loads((folders[0] / FILE).read_bytes())  # noqa: S301 - written by the program that started it
    with offered(workload_of(given, name)):
        train.run()


if __name__ == "__main__":
    main()
