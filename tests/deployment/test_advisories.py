"""scripts/check-advisories: findings end it with 1, and what cannot be asked is skipped with a reason."""

import json
import os
import subprocess
import sys

from tests.checkout import ROOT

SCRIPT = ROOT / "scripts" / "check-advisories"
# as pip-audit and npm document their formats
PYTHON = {
    "dependencies": [
        {"name": "fastapi", "version": "1.0", "vulns": []},
        {"name": "torch", "skip_reason": "not found"},
        {
            "name": "flask",
            "version": "0.5",
            "vulns": [
                {"id": "PYSEC-2019-179", "fix_versions": ["1.0"], "aliases": [], "description": "x"},
                {"id": "PYSEC-2018-66", "fix_versions": [], "aliases": [], "description": "y"},
            ],
        },
    ],
    "fixes": [],
}
NPM = {
    "auditReportVersion": 2,
    "vulnerabilities": {
        "lodash": {"name": "lodash", "severity": "high", "via": [{"title": "Prototype pollution", "url": "u"}]},
        "above": {"name": "above", "severity": "high", "via": ["lodash"]},
    },
}
CLEAN = (
    {"dependencies": PYTHON["dependencies"][:2], "fixes": []},
    {"auditReportVersion": 2, "vulnerabilities": {}},
)


def program(folder, name: str, said: str, status: int = 0, error: str = "") -> str:
    """Return a program that says something, and notes what it was called with."""
    place = folder / name
    place.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(place) + '.called'!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"print({said!r})\nprint({error!r}, file=sys.stderr)\nsys.exit({status})\n"
    )
    place.chmod(0o755)
    return str(place)


def check(*options: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, SCRIPT, *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def both(folder, python, npm, status: int = 0) -> tuple[int, str]:
    tools = [
        program(folder, "pip-audit", json.dumps(python), status),
        program(folder, "npm", json.dumps(npm), status),
    ]
    return check("--pip-audit", tools[0], "--npm", tools[1])


def test_findings_are_listed_and_end_it_with_one(tmp_path):
    status, told = both(tmp_path, PYTHON, NPM, status=1)
    assert status == 1
    assert told.splitlines() == [
        "advisories of Python packages: flask 0.5: PYSEC-2019-179, mended in 1.0",
        "advisories of Python packages: flask 0.5: PYSEC-2018-66, mended in no version",
        "advisories of Python packages: 2 known vulnerabilities",
        "advisories of dashboard packages: lodash: Prototype pollution (high)",
        "advisories of dashboard packages: 1 known vulnerabilities",
    ]
    called = (tmp_path / "pip-audit.called").read_text().split()
    assert {"--no-deps", "--disable-pip", "constraints.txt"} <= set(called), "nothing is resolved or installed"
    assert (tmp_path / "npm.called").read_text().startswith("audit --json ")


def test_without_findings_it_ends_with_zero(tmp_path):
    status, told = both(tmp_path, *CLEAN)
    assert status == 0
    assert told.count(": 0 known vulnerabilities") == 2


def test_what_cannot_be_asked_is_skipped_and_says_why(tmp_path):
    tools = [
        program(tmp_path, "pip-audit", "", 1, "ERROR: could not connect to the service"),
        program(tmp_path, "npm", json.dumps({"message": "request failed", "error": {"code": "ENOTFOUND"}}), 1),
    ]
    status, told = check("--pip-audit", tools[0], "--npm", tools[1])
    assert status == 0
    assert "advisories of Python packages: SKIPPED, ERROR: could not connect to the service" in told
    assert "advisories of dashboard packages: SKIPPED, request failed" in told
    status, told = check("--pip-audit", str(tmp_path / "absent"), "--npm", str(tmp_path / "absent"))
    assert (status, told.count("absent is not there")) == (0, 2)


def test_the_real_npm_without_a_network_is_skipped(tmp_path):
    """Its registry is a port on which nobody listens."""
    tool = program(tmp_path, "pip-audit", json.dumps(CLEAN[0]))
    status, told = check(
        "--pip-audit", tool, npm_config_registry="http://127.0.0.1:9/", npm_config_offline="false"
    )
    assert status == 0
    assert "advisories of dashboard packages: SKIPPED, " in told
