"""What a user can type or set is written down, and what is written down exists."""

import functools
import re
import tomllib
from datetime import timedelta
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
    command = load(name, COMMANDS[name])
    every = [command, *getattr(command, "commands", {}).values()]
    options = {o for each in every for p in each.params for o in p.opts if o.startswith("--") and o != "--help"}
    assert sorted(o for o in options if o not in PAGES) == []


def test_every_environment_variable_is_in_the_table():
    names = {field.alias or f"HOOKE_{name.upper()}" for name, field in Settings.model_fields.items()}
    assert [name for name in sorted(names | {"HOOKE_DATA", "HOOKE_REQUIRE"}) if f"`{name}`" not in PAGES] == []


def stated(text):
    """Return the value of a default as the table of settings writes it."""
    if found := re.fullmatch(r"(\d+) ([MG])iB", text):
        return int(found[1]) * 2 ** {"M": 20, "G": 30}[found[2]]
    if found := re.fullmatch(r"(\d+)([dh])", text):
        return timedelta(**{{"d": "days", "h": "hours"}[found[2]]: int(found[1])})
    known = {"none": None, "never": None, "true": True, "false": False, "`[]`": []}
    return float(text.replace(",", "")) if re.fullmatch(r"\d[\d,]*(\.\d+)?", text) else known.get(text, text)


def test_the_defaults_of_settings_are_those_of_the_table():
    """Of those that do not depend on the machine."""
    fields = {field.alias or f"HOOKE_{name.upper()}": field for name, field in Settings.model_fields.items()}
    table = (ROOT / "docs" / "deployment.md").read_text().partition("## Settings\n")[2]
    told = {}
    for variables, defaults in re.findall(r"^\| (`HOOKE.*?`) \| (.*?) \|", table, re.MULTILINE):
        names, values = re.findall(r"HOOKE_\w+", variables), defaults.split("; ")
        told |= dict(zip(names, values * len(names) if len(values) == 1 else values, strict=True))
    elsewhere = {name for name in fields if name.startswith(("HOOKE_OIDC_", "HOOKE_WEBHOOK_"))}
    assert told.keys() == fields.keys() - elsewhere
    for name in told.keys() - {"HOOKE_HOME", "HOOKE_DASHBOARD", "HOOKE_MIGRATIONS"}:
        assert stated(told[name]) == fields[name].get_default(call_default_factory=True), name


def test_every_target_of_make_that_is_shown_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = set(re.findall(r"`make ([a-z-]+)", PAGES)) | set(re.findall(r"^make ([a-z-]+)", PAGES, re.MULTILINE))
    assert {"demo", "up", "test", "check", "bench-core", "clean", "help"} <= targets
    assert shown <= targets
    assert {"demo", "test"} <= shown


def test_no_link_points_nowhere():
    broken = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").glob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", page.read_text()):
            there = page.parent / target if target else page
            lost = not there.exists() or (there.suffix == ".md" and anchor and anchor not in anchors(there))
            if not re.match(r"[a-z]+:", target) and lost:
                broken.append(f"{page.relative_to(ROOT)} -> {target}#{anchor}")
    assert broken == []


@functools.cache
def anchors(page):
    """Return the anchors of the headings of a page: lower case, dashes for blanks, no other marks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_both_distributions_have_one_version_and_the_changelog_has_it():
    versions = {
        tomllib.loads((ROOT / part / "pyproject.toml").read_text())["project"]["version"]
        for part in ("engine", "api")
    }
    assert len(versions) == 1
    assert f"## [{versions.pop()}]" in (ROOT / "CHANGELOG.md").read_text()
