"""What a command or an import costs before it does anything: measured by what it loads, not by a clock."""

import re
import subprocess
import sys

import pytest

COMPUTE = {"torch", "mpi4py", "numba"}
WEB = {"fastapi", "starlette", "uvicorn", "sqlalchemy"}


def loaded(*arguments: str) -> set[str]:
    """Return every top-level package that `python <arguments>` imports."""
    command = [sys.executable, "-X", "importtime", *arguments]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr[-2000:]
    names = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", result.stderr, re.MULTILINE)
    assert len(names) > 20
    return {name.partition(".")[0] for name in names}


def test_the_measure_sees_an_import():
    assert "numpy" in loaded("-c", "import numpy")


def test_help_loads_neither_models_nor_pydantic_nor_the_api():
    packages = loaded("-m", "hooke", "--help")
    assert "typer" in packages
    late = {"numpy", "pydantic", "hooke_api", "celery", "httpx", "rich", "psutil"}
    assert packages & (COMPUTE | WEB | late) == set()


def test_the_shared_language_is_free_of_torch_and_mpi():
    modules = "catalogue.algorithm", "catalogue.workload", "catalogue.expand", "spec.specification", "spec.journal"
    program = "; ".join(f"import hooke.{module}" for module in modules)
    assert loaded("-c", program) & (COMPUTE | WEB | {"celery", "redis"}) == set()


def test_the_catalogues_are_free_of_torch_and_mpi():
    program = "from hooke.catalogue.discovery import everything; everything()"
    assert loaded("-c", program) & (COMPUTE | WEB) == set()


def test_the_api_loads_neither_torch_nor_mpi():
    program = "from hooke_api.app import create_app; create_app()"
    packages = loaded("-c", program)
    assert "fastapi" in packages
    assert packages & COMPUTE == set()


def test_agent_and_supervisor_load_no_model_no_web_stack_and_no_command_line_of_httpx():
    packages = loaded("-c", "import hooke.cluster.agent, hooke.cluster.supervisor")
    assert "httpx" in packages
    assert packages & (COMPUTE | WEB | {"rich", "pygments"}) == set()


STARTED = """
import gc, runpy, sys
searched = []
gc.callbacks.append(lambda phase, found: searched.append((phase, found["generation"])))
gc.collect()
before = len(searched)
sys.argv = ["-", "--help", "more"]
try:
    runpy.run_module("{module}", run_name="__main__", alter_sys=True)
except SystemExit:
    print(len(searched) - before, gc.get_freeze_count(), gc.isenabled())
"""


@pytest.mark.parametrize(
    ("module", "least"), [("hooke.loop.train", 200_000), ("hooke.cluster.supervisor", 50_000)]
)
def test_what_a_process_imports_is_never_searched_for_garbage(module, least):
    """Not while it is imported, in a measured step, or at the end; what comes after it is."""
    command = [sys.executable, "-c", STARTED.format(module=module)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    searched, kept, collecting = told.splitlines()[-1].split()
    assert int(searched) < 50, "of more than a thousand"
    assert int(kept) > least
    assert collecting == "True"


def test_the_guard_is_light():
    assert (
        loaded("-c", "import hooke.cluster.guard")
        & (COMPUTE | WEB | {"pydantic", "numpy", "asyncio", "subprocess", "psutil"})
        == set()
    )
