"""What a user can type or set is written down, and what is written down exists."""

import re
import tomllib
from pathlib import Path

import pytest
from hooke.cli.group import OWN, joined, load, summary
from hooke_api.base.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = README + "".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
COMMANDS = OWN | joined()


def test_the_commands_of_the_api_join_the_command_line():
    assert {"up", "demo"} <= set(joined())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_documented(name):
    assert summary(COMMANDS[name]).endswith("."), "the first line of its docstring is its help"
    assert re.search(rf"\bhooke {name}\b", PAGES), f"neither README.md nor docs/ shows `hooke {name}`"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_is_documented(name):
    options = [
        o for p in load(name, COMMANDS[name]).params for o in p.opts if o.startswith("--") and o != "--help"
    ]
    assert [o for o in options if o not in PAGES] == []


def test_every_environment_variable_is_in_the_table():
    names = {field.alias or f"HOOKE_{name.upper()}" for name, field in Settings.model_fields.items()}
    assert [name for name in sorted(names | {"HOOKE_DATA", "HOOKE_REQUIRE"}) if f"`{name}`" not in PAGES] == []


def test_every_target_of_make_that_is_shown_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = set(re.findall(r"`make ([a-z-]+)", PAGES)) | set(re.findall(r"^make ([a-z-]+)", PAGES, re.MULTILINE))
    assert {"demo", "up", "test", "check", "bench-core", "clean", "help"} <= targets
    assert shown <= targets
    assert {"demo", "test"} <= shown


def test_no_link_points_nowhere():
    broken = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").glob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} -> {target}")
    assert broken == []


def test_both_distributions_have_one_version_and_the_changelog_has_it():
    versions = {
        tomllib.loads((ROOT / part / "pyproject.toml").read_text())["project"]["version"]
        for part in ("engine", "api")
    }
    assert len(versions) == 1
    assert f"## [{versions.pop()}]" in (ROOT / "CHANGELOG.md").read_text()
