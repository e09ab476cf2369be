"""What can be checked of docker/ without a container engine; tests/api/test_topology.py runs its processes."""

import importlib.util
import json
import re
import subprocess
from fnmatch import fnmatch

import pytest
import yaml
from hooke_api.base.settings import Settings

from tests.checkout import ROOT

DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILES = {path.name: path.read_text() for path in sorted(DOCKER.glob("*.Dockerfile"))}
SETTINGS = {field.alias or f"HOOKE_{name.upper()}" for name, field in Settings.model_fields.items()}
WRITABLE_ROOT = {"postgres"}
"""Services whose root is not read-only."""


def dockerfile(service: str) -> str | None:
    """Return the text of the Dockerfile from which the image of a service is built."""
    build = SERVICES[service].get("build")
    return DOCKERFILES[build["dockerfile"].removeprefix("docker/")] if build else None


def instructions(text: str, name: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", text)
    return re.findall(rf"^(?:    )?{name} (.+)$", joined, re.MULTILINE)


def strings(value) -> list[str]:
    if isinstance(value, dict):
        return [each for key, inner in value.items() for each in (key, *strings(inner))]
    if isinstance(value, list):
        return [each for inner in value for each in strings(inner)]
    return [str(value)]


def test_the_services_are_those_that_the_documents_name():
    assert set(SERVICES) == {"postgres", "redis", "api-1", "api-2", "proxy", "agent"}


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_is_root_or_may_become_it(name):
    service, built = SERVICES[name], dockerfile(name)
    user = service.get("user") or instructions(built, "USER")[-1]
    assert user.partition(":")[0] not in ("", "root", "0")
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert service.get("read_only", False) == (name not in WRITABLE_ROOT)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_watched_started_again_and_bounded_in_its_logs(name):
    service, built = SERVICES[name], dockerfile(name)
    if built is None:
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    else:
        assert len(instructions(built, "HEALTHCHECK")) == 1
    assert service["restart"] == "unless-stopped"
    assert service["logging"]["options"]["max-size"]


def images() -> list[str]:
    bases = [base for text in DOCKERFILES.values() for base in instructions(text, "FROM")]
    return [
        *(base.partition(" AS ")[0] for base in bases),
        *(service["image"] for service in SERVICES.values() if "build" not in service),
    ]


@pytest.mark.parametrize("image", images())
def test_every_image_has_an_exact_version_and_a_digest(image):
    assert re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]+@sha256:[0-9a-f]{64}", image)


def test_secrets_are_files_and_nothing_else():
    assert {tuple(secret) for secret in COMPOSE["secrets"].values()} == {("file",)}
    for name, service in SERVICES.items():
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        for text in strings(service):
            assert not re.search(r"://[^/@\s]*:[^/@\s]+@", text), f"{name}: a password in {text}"
            for secret in re.findall(r"/run/secrets/([\w-]+)", text):
                assert secret in service["secrets"]
        for variable in service.get("environment", {}):
            assert variable.endswith("_FILE") or not re.search("PASSWORD|TOKEN|SECRET|KEY", variable)
    for ignored in (".gitignore", ".dockerignore"):
        assert "docker/secrets" in (ROOT / ignored).read_text()


def test_a_password_in_a_url_would_be_seen():
    assert re.search(r"://[^/@\s]*:[^/@\s]+@", "redis://:secret@redis:6379/0")
    assert not re.search(r"://[^/@\s]*:[^/@\s]+@", SERVICES["api-1"]["environment"]["HOOKE_DATABASE_URL"])


def test_only_the_proxy_is_reached_from_outside_and_only_from_this_host():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"proxy"}
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["proxy"]["ports"])
    networks = {name: set(service["networks"]) for name, service in SERVICES.items()}
    assert {name for name, joined in networks.items() if "database" in joined} == {"postgres", "api-1", "api-2"}
    assert "web" not in networks["postgres"] | networks["redis"]
    assert all(COMPOSE["networks"][name] == {"internal": True} for name in ("database", "broker"))


def test_the_proxy_knows_the_apis_and_does_not_buffer():
    lines = (DOCKER / "Caddyfile").read_text()
    (upstreams,) = re.findall(r"reverse_proxy (.+) \{", lines)
    assert upstreams.split() == [f"{name}:7450" for name in SERVICES if name.startswith("api-")]
    assert "flush_interval -1" in lines
    assert "lb_policy round_robin" in lines, "another policy may choose a dead one for every try"
    (repeated,) = re.findall(r"lb_retry_match \{\s+method (.+)\s+\}", lines)
    assert repeated.split() == ["GET", "HEAD"], "part of a change may have been made"
    hosts = json.loads(SERVICES["api-1"]["environment"]["HOOKE_ALLOWED_HOSTS"].replace("${", "").replace("}", ""))
    assert {"proxy", "api-1", "api-2"} <= set(hosts), "the API refuses other Host headers"


def test_what_the_services_are_told_is_known():
    for name in ("api-1", "api-2"):
        assert set(SERVICES[name]["environment"]) <= SETTINGS
    for variables in re.findall(r"^ENV (.+)$", DOCKERFILES["api.Dockerfile"], re.MULTILINE):
        of_commands = {"HOOKE_API"}
        assert {pair.partition("=")[0] for pair in variables.split()} <= SETTINGS | of_commands
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", ())]
    assert {volume.partition(":")[0] for volume in mounted if not volume.startswith(".")} == set(
        COMPOSE["volumes"]
    )


def ignored(path: str) -> bool:
    """Return whether .dockerignore leaves a path out: its last line for it, or a folder of it, decides."""
    found, parts = False, path.split("/")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").rstrip("/").removeprefix("**/")
        if any(fnmatch("/".join(parts[: i + 1]), pattern) for i in range(len(parts))):
            found = not line.startswith("!")
    return found


@pytest.mark.parametrize(
    ("path", "out"),
    [("tests/x.py", True), ("docs/a.md", True), ("docs/algorithms.md", False), ("docker/secrets/token", True)],
)
def test_what_the_images_leave_out_is_seen(path, out):
    assert ignored(path) == out


@pytest.mark.parametrize("name", DOCKERFILES)
def test_what_an_image_copies_exists_and_what_it_runs_is_a_module(name):
    text = DOCKERFILES[name]
    copied = [line for line in instructions(text, "COPY") if not line.startswith("--from")]
    assert len(copied) >= 2
    for line in copied:
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert not ignored(source), source
    (command,) = [
        json.loads(found)
        for kind in ("CMD", "ENTRYPOINT")
        for found in re.findall(rf"^{kind} (\[.+\])$", text, re.MULTILINE)
    ]
    assert command[:2] == ["python", "-m"]
    assert importlib.util.find_spec(command[2]) is not None


def test_secrets_are_made_once(tmp_path):
    folder = tmp_path / "secrets"

    def made() -> dict[str, str]:
        subprocess.run([DOCKER / "make-secrets", folder], check=True)
        return {path.name: path.read_text() for path in folder.iterdir()}

    first = made()
    assert set(first) == set(COMPOSE["secrets"])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", secret) for secret in first.values())
    assert len(set(first.values())) == len(first)
    assert made() == first
    (folder / "token").unlink()
    again = made()
    assert {name for name in first if again[name] != first[name]} == {"token"}
