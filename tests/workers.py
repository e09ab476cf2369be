"""Runs tests in several processes that are forks of the one that has collected them.

    pytest --workers 5

To import all that is tested, and to collect the tests, takes a processor many seconds, which is done once here and
not by each worker. A worker asks for a group of tests after the other, and sends its reports, which this process
treats as its own. Fixtures of a session are made in each worker that needs them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest
from _pytest.config import create_terminal_writer

WORKER = "TESTS_WORKER"
"""Environment variable of a worker, and of what it starts: its name, which is that of its folder."""
PATIENCE = 30.0
"""Seconds that workers have to end what their fixtures have started, where a test or an error ends all."""


class Reporting:
    """Of a worker: what it sends instead of writing it to the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tw = create_terminal_writer(config, sys.stderr)  # where plugins look for it
        self.reports: list[dict[str, Any]] = []
        self.warnings: list[tuple[str, str, str, int, str, str]] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        made = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.reports.append(made)

    @pytest.hookimpl
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str, nodeid: str) -> None:
        told = warning_message.category.__name__, str(warning_message.message), warning_message.filename
        self.warnings.append((*told, warning_message.lineno, when, nodeid))


def _separate(config: pytest.Config, name: str) -> Reporting:
    """Give this process its own name, folder and captured output, and nothing to write to the terminal."""
    os.environ[WORKER] = name
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    own = factory.getbasetemp() / name
    own.mkdir(mode=0o700)
    factory._basetemp = own
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    for plugin in ("terminalreporter", "terminalprogress-plugin"):
        if config.pluginmanager.has_plugin(plugin):
            config.pluginmanager.unregister(name=plugin)
    reporting = Reporting(config)
    config.pluginmanager.register(reporting, "terminalreporter")
    return reporting


def _given(there: Connection) -> Iterator[int]:
    """Ask for tests until there are none. A group is asked for before the last test of the one before it runs:
    what that test ends depends on the next one."""
    while True:
        there.send(("next", None))
        if not (group := there.recv()):
            return
        yield from group


def _spent() -> tuple[float, float]:
    """Return the processor seconds of this process, and of what it has started and waited for."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, started = (each.ru_utime + each.ru_stime for each in both)
    return own, started


def _work(session: pytest.Session, there: Connection, name: str) -> NoReturn:
    told = None
    try:
        reporting = _separate(session.config, name)
        tests = _given(there)
        current = next(tests, None)
        while current is not None:
            following = next(tests, None)
            item = session.items[current]
            after = None if following is None else session.items[following]
            before = _spent()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            spent = [now - then for now, then in zip(_spent(), before, strict=True)]
            there.send(("done", (current, reporting.reports, reporting.warnings, spent)))
            reporting.reports, reporting.warnings = [], []
            if session.shouldfail or session.shouldstop:
                break
            current = following
    except BaseException:  # also of Ctrl-C: what fixtures have started must end
        told = traceback.format_exc()
    finally:
        try:
            session._setupstate.teardown_exact(None)
        except BaseException:
            told = told or traceback.format_exc()
        with contextlib.suppress(OSError):
            there.send(("end", told))
        os._exit(0)


@dataclass
class _Worker:
    pid: int
    tests: deque[int] = field(default_factory=deque)
    """What it has been given and has not done, the one that it runs first."""


class Workers:
    """The processes, and the groups that none of them has begun."""

    def __init__(self, session: pytest.Session, groups: list[list[int]]) -> None:
        self._session, self._groups = session, deque(groups)
        self._left = sum(map(len, groups))
        self._living: dict[Connection, _Worker] = {}
        self._started = 0
        self.spent: dict[str, list[float]] = {}
        """Test -> processor seconds of its worker, and of what that has started for it and waited for."""

    def run(self, number: int) -> None:
        """Run all with as many processes; raises what the loop of pytest raises."""
        if "mpi4py.MPI" in sys.modules:
            raise RuntimeError("MPI has begun, which forks cannot use: which test file imports mpi4py.MPI?")
        self._session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for _ in range(min(number, len(self._groups))):
                self._start()
            while self._living:
                for here in wait(list(self._living)):
                    self._listen(here)
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
        except BaseException as error:
            self._stop(interrupted=isinstance(error, KeyboardInterrupt))
            raise
        if self._left:
            raise RuntimeError(f"{self._left} tests were not run")

    def _start(self) -> None:
        self._session.config.get_terminal_writer().flush()
        here, there = Pipe()
        name = f"w{self._started}"
        self._started += 1
        pid = os.fork()
        if pid == 0:
            for each in (here, *self._living):
                each.close()
            _work(self._session, there, name)
        there.close()
        self._living[here] = _Worker(pid)

    def _listen(self, here: Connection) -> None:
        worker = self._living[here]
        try:
            kind, told = here.recv()
        except (EOFError, ConnectionError):
            self._died(worker, self._ended(here))
            return
        if kind == "next":
            group = self._groups.popleft() if self._groups else []
            worker.tests.extend(group)
            with contextlib.suppress(ConnectionError):  # then it has died, which the next look finds
                here.send(group)
        elif kind == "done":
            self._done(worker, *told)
        else:
            self._ended(here)
            if told is not None:
                raise RuntimeError(f"a worker could not go on:\n{told}")

    def _ended(self, here: Connection) -> int:
        """Wait for the end of a worker; return its exit status."""
        here.close()
        _, status = os.waitpid(self._living.pop(here).pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _done(
        self, worker: _Worker, test: int, reports: list[dict[str, Any]], said: list[Any], spent: list[float]
    ) -> None:
        worker.tests.remove(test)
        self._left -= 1
        self.spent[self._session.items[test].nodeid] = spent
        config = self._session.config
        for name, text, file, line, when, nodeid in said:
            message = warnings.WarningMessage(text, type(name, (Warning,), {}), file, line)
            config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": None}
            )
        for each in reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=each)
            config.hook.pytest_runtest_logreport(report=report)

    def _died(self, worker: _Worker, status: int) -> None:
        """Tell of the test in which a worker died; another one runs what that has left."""
        if not worker.tests:
            raise RuntimeError(f"a worker ended with status {status} before it ran a test")
        item = self._session.items[worker.tests.popleft()]
        self._left -= 1
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", f"its worker ended with {how} while this test ran", "call"
        )
        item.config.hook.pytest_runtest_logreport(report=report)
        if worker.tests:
            self._groups.appendleft(list(worker.tests))
        if self._groups:
            self._start()

    def _stop(self, interrupted: bool) -> None:
        """End what lives: each ends what its fixtures have started. A terminal has interrupted all of them.

        A shell lets what it starts in the background ignore interrupts: then they are killed after a while.
        """
        for here, worker in self._living.items():
            here.close()
            if not interrupted:
                os.kill(worker.pid, signal.SIGINT)  # not yet waited for: its pid cannot have been reused
        until = time.monotonic() + PATIENCE
        for worker in self._living.values():
            while os.waitpid(worker.pid, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
                if time.monotonic() > until:
                    os.kill(worker.pid, signal.SIGKILL)
        self._living.clear()
