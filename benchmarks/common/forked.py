"""A run in virtual time in a fork of this process, which has imported what the run needs.

`hooke run` starts two interpreters and imports PyTorch anew, which takes as long as a short run. The results are
the same.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooke.catalogue.validation import validate_run
from hooke.cluster.guard import die_with_parent
from hooke.cluster.local_run import prepare
from hooke.spec.events import Done, StateReport
from hooke.spec.specification import RunSpec
from hooke.spec.states import DIVERGED, USER_RAISED


def simulated(
    document: Mapping[str, Any], folder: Path, cores: int, processor_seconds: float, over: str
) -> dict[str, Any]:
    """Carry out a virtual run with its journals in a new `folder`; return the fields of `hooke run`.

    After `processor_seconds` the kernel ends it: then, and where anything but its method fails, the result is a
    failure that says why, in the first case `over`. It has the `processor_seconds` that it took.
    """
    import hooke.loop.train  # noqa: F401 - before the fork, which inherits it, and PyTorch with it

    told = folder.with_suffix(".result.json")
    fork = multiprocessing.get_context("fork")
    spent = _processor_seconds()
    process = fork.Process(target=_carry_out, args=(document, folder, cores, processor_seconds, told, os.getpid()))
    process.start()
    try:
        process.join()
    except BaseException:  # also Ctrl-C
        process.kill()
        process.join()
        raise
    if told.exists():
        found: dict[str, Any] = json.loads(told.read_text())
        told.unlink()
    else:
        ended = process.exitcode == -signal.SIGXCPU
        why = over if ended else f"the process of the run ended with status {process.exitcode}"
        found = {"state": "failed_infra", "why": why, "diverged": False}
    return found | {"processor_seconds": _processor_seconds() - spent}


def _carry_out(
    document: Mapping[str, Any], folder: Path, cores: int, processor_seconds: float, told: Path, parent: int
) -> None:
    die_with_parent(signal.SIGKILL, parent)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(processor_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # computed on processors, also where there is a GPU
    spec = validate_run(document)
    prepare(folder, spec)
    log = os.open(folder / "run.log", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    new = told.with_suffix(".new")
    new.write_text(json.dumps(_result(spec, folder, cores)))
    new.replace(told)


def _result(spec: RunSpec, folder: Path, cores: int) -> dict[str, Any]:
    from hooke.catalogue.algorithm import ranks_of
    from hooke.cli import outcome
    from hooke.comparison import journals
    from hooke.errors import NumericalError
    from hooke.loop.train import run_spec_virtual

    state, why, code = "succeeded", "", 0
    done: dict[int, Done] = {}
    try:
        done = {each.rank: each.done for each in run_spec_virtual(spec, folder, cores=cores)}
        reason = done[0].reason
        state = reason if reason in ("cancelled", "timed_out") else state
    except NumericalError as error:
        state, why, code = "failed_user", f"{type(error).__name__}: {error}", DIVERGED
    except Exception as error:  # noqa: BLE001 - of whatever kind: it is no result, and says so
        state, why, code = "failed_user", f"{type(error).__name__}: {error}", USER_RAISED
    report = StateReport.model_validate({"state": state, "unix": time.time(), "why": why, "exit_code": code})
    return outcome.result(spec, report, {}, done, journals.evaluations(folder, ranks_of(spec)))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
