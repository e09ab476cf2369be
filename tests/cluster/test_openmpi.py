"""Ranks under an mpirun of Open MPI, more of them than cores; and what is told if none starts."""

import importlib.metadata
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hooke.cluster.hello import describe
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.mpi import Mpirun, parse_version
from hooke.cluster.launchers.settings import HostsSettings, LocalSettings, PsijSettings, SlurmSettings
from hooke.cluster.processes import children
from hooke.errors import LaunchError

from tests.cluster.bench import kill9, spec
from tests.waiting import wait_for


@pytest.fixture
def site(program_path):
    return LocalSettings(mpirun=Path(program_path("openmpi") or "mpirun"))


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...", "openmpi", (4, 1, 4)),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n", "openmpi", (4, 1, 4)),
        ("mpirun (Open MPI) 5.0.11\n", "openmpi", (5, 0, 11)),
        ("HYDRA build details:\n    Version:         5.0.2\n", "hydra", (5, 0, 2)),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 2023", "hydra", (2021, 11)),
    ],
)
def test_an_mpirun_is_known_by_its_words(text, family, version):
    found = parse_version("site/mpirun", text)
    assert (found.family, found.version) == (family, version)
    whose = "Open MPI" if family == "openmpi" else "Intel MPI" if "Intel" in text else "MPICH"
    assert found.implementation == f"{whose} {'.'.join(map(str, version))}"


def test_an_mpirun_of_another_kind_is_refused_with_its_words():
    with pytest.raises(LaunchError, match="site/mpirun is neither .* says 'mpirun of Acme'"):
        parse_version("site/mpirun", "mpirun of Acme\n")


def test_open_mpi_is_told_of_more_ranks_than_cores_and_of_root_only_where_they_are():
    four, five = Mpirun("m", "openmpi", (4, 1, 4)), Mpirun("m", "openmpi", (5, 0, 1))
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    assert four.options(2, 2) == ["--bind-to", "none", *root]
    assert four.options(3, 2) == ["--bind-to", "none", *root, "--oversubscribe"]
    assert five.options(3, 2) == ["--bind-to", "none", *root, "--map-by", ":OVERSUBSCRIBE"]
    assert Mpirun("m", "hydra", (5,)).options(3, 2) == []


@pytest.mark.needs("openmpi")
def test_more_ranks_than_cores_start_and_a_cancel_ends_them_together(bench, site):
    run, workers = bench.run_name(), len(os.sched_getaffinity(0)) + 1
    _, supervisor = bench.start("--steps", "100000", runs=[run], specs={run: spec(workers=workers)}, launcher=site)
    bench.running(run)
    wait_for(lambda: bench.written(run, 0) > 3, "steps")
    bench.folder(run).cancel.touch()
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "cancelled"
    ended = [bench.api.records[run, 1, rank][-1] for rank in range(workers)]
    assert [getattr(record, "reason", record.kind) for record in ended] == ["cancelled"] * workers
    bench.assert_complete(run, workers)


@pytest.mark.needs("openmpi")
def test_a_killed_mpirun_is_told_and_leaves_nothing(bench, site):
    run, supervisor = bench.start("--steps", "100000", launcher=site)
    bench.running(run)
    kill9(next(child.pid for child in children(supervisor.pid)))
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert (end.state, "mpirun was killed by SIGKILL" in end.why) == ("failed_infra", True), end


@pytest.mark.needs("openmpi")
def test_why_ranks_never_started_is_in_the_reason(bench, site):
    refused = site.model_copy(update={"options": ("--host", "no-such-host-of-hooke")})
    run, supervisor = bench.start(launcher=refused)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    assert "The launcher said:" in end.why and "no-such-host-of-hooke" in end.why


@pytest.mark.needs("openmpi")
def test_a_library_that_does_not_understand_the_launcher_is_named(bench, site):
    hydra = LocalSettings(libmpi=Path("libmpi.so.40"))  # Open MPI's library under MPICH's mpirun
    run, supervisor = bench.start(launcher=hydra)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    assert "started 2 processes (PMI_SIZE), but each of them is alone: mpi4py has loaded Open MPI v4" in end.why


def an_mpirun(folder, says="mpirun (Open MPI) 4.1.4"):
    """Return an mpirun that says whose it is."""
    (folder / "bin").mkdir()
    fake = folder / "bin" / "mpirun"
    fake.write_text(f"#!/bin/sh\necho '{says}'\n")
    fake.chmod(0o755)
    assert shutil.which(str(fake))
    return fake


def test_ranks_on_other_hosts_are_told_the_library_that_belongs_to_their_mpirun(tmp_path):
    """It was set on the first host only: ranks elsewhere loaded MPICH, each alone, and the first one waited."""
    fake = an_mpirun(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpi.so.40").touch()
    hosts = [{"address": address} for address in ("node1", "node2")]
    launcher = make(HostsSettings(kind="hosts", hosts=hosts, mpirun=fake))
    launch = Launch("mpi", 2, (tmp_path,), ("r.1",))
    command = launcher.command(launch)
    passed = {name for option, name in pairwise(command) if option == "-x"}
    assert {"HOOKE_ATTEMPT", "MPI4PY_LIBMPI"} <= passed
    assert launcher.environment(launch, {})["MPI4PY_LIBMPI"] == str(tmp_path / "lib" / "libmpi.so.40")


def test_debians_mpich_is_loaded_under_the_name_that_mpi4py_needs(tmp_path):
    """Its library is called libmpich.so.12: every rank failed, as there was no libmpi.so.12."""
    fake = an_mpirun(tmp_path, "HYDRA build details:\n    Version: 4.0.2")
    library = tmp_path / "lib" / "libmpich.so.12"
    library.parent.mkdir()
    library.touch()
    folder = tmp_path / "runs" / "1"
    for _ in range(2):  # the link is there when a supervisor starts again
        told = make(LocalSettings(mpirun=fake)).environment(
            Launch("mpi", 2, (folder,), ("r.1",)), {"LD_LIBRARY_PATH": "/site"}
        )
    first, *others = told["LD_LIBRARY_PATH"].split(os.pathsep)
    assert others == ["/site"]
    assert (Path(first) / "libmpi.so.12").resolve() == library
    assert Path(first).is_relative_to(folder) and told["MPI4PY_LIBMPI"] == str(library)


def test_a_cluster_tells_the_library_of_its_mpirun_and_not_the_wheel_beside_it(tmp_path):
    fake = an_mpirun(tmp_path)
    assert importlib.metadata.version("mpich") in describe("a").versions["mpi"], "the wheel, whose mpirun is used"
    for settings in (LocalSettings(mpirun=fake), PsijSettings(kind="psij", slots=2, executor="pbs", mpirun=fake)):
        assert describe("a", launcher=settings).versions["mpi"] == "Open MPI 4.1.4"
    slurm = SlurmSettings(kind="slurm", slots=2, libmpi=Path("/site/libmpi.so.40"))
    assert describe("a", launcher=slurm).versions["mpi"] == "/site/libmpi.so.40"
    inside = slurm.model_copy(update={"start": "mpirun", "mpirun": fake})
    assert describe("a", launcher=inside).versions["mpi"] == "Open MPI 4.1.4"
    gone = LocalSettings(mpirun=tmp_path / "gone")
    assert describe("a", launcher=gone).versions["mpi"] == describe("a").versions["mpi"]


def test_an_open_mpi_without_its_library_fails_with_a_sentence(bench, tmp_path):
    fake = an_mpirun(tmp_path)
    run, supervisor = bench.start(launcher=LocalSettings(mpirun=fake))
    bench.finish(supervisor)
    assert "there is no libmpi.so.40 in" in bench.api.end(run).why
