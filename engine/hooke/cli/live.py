"""The live line of `hooke run` on a terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hooke.cli.progress import Follower
from hooke.cli.text import percent, seconds
from hooke.cluster.local_run import LocalRun
from hooke.spec.events import Evaluation


class LiveDisplay:
    """A bar over the budget, the train clock, and the latest evaluation."""

    def __init__(self, run: LocalRun) -> None:
        self._simulated = " simulated" if run.spec.world == "virtual" else ""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(separator=" of "),
            TextColumn("samples   {task.fields[said]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=run.spec.budget.samples, said="")

    def __enter__(self) -> LiveDisplay:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, follower: Follower, new: list[Evaluation]) -> None:
        """Redraw the line."""
        del new
        if not follower.samples and not follower.evaluations:
            return
        said = [f"{seconds(follower.clock)}{self._simulated}"]
        if follower.loss is not None:
            said.append(f"batch loss {follower.loss:.3f}")
        if follower.evaluations:
            said.append(f"validation accuracy {percent(follower.evaluations[-1].accuracy)}")
        self._progress.update(
            self._task, completed=follower.samples, description="training", said="   ".join(said)
        )
