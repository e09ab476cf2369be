"""`hooke --help` is quick because it imports nothing; other distributions join by an entry point."""

import importlib
import json
import subprocess
import sys
import textwrap

import pytest
from hooke.catalogue import algorithm, workload
from hooke.cli.group import OWN, app, summary
from typer.testing import CliRunner

from tests.checkout import python_path

HEAVY = ("torch", "numpy", "pydantic", "rich", "yaml", "mpi4py", "fastapi", "hooke_api", "joiner")


@pytest.fixture
def joiner(tmp_path):
    """A distribution of somebody else, as an installer leaves it; importing it would fail the help page."""
    place = tmp_path / "site"
    package = place / "joiner"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import sys\nif '--help' in sys.argv: raise SystemExit('imported!')\n")
    (package / "work.py").write_text(
        textwrap.dedent(
            '''
            def other():
                """Not this one."""

            def greet(name: str, loud: bool = False):
                """Greet somebody.

                At length.
                """
                print(f"hello {name}" + "!" * loud)
            '''
        )
    )
    info = place / "joiner-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: joiner\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hooke.commands]\ngreet = joiner.work:greet\nrun = joiner.work:other\nlost = gone.away:nobody\n"
    )
    return {"PYTHONPATH": python_path(place)}


def test_help_lists_every_command_with_its_sentence(hooke, joiner):
    ended = hooke("--help", env=joiner)
    assert ended.status == 0, ended
    for name in OWN:
        assert f"\n  {name} " in ended.out
    assert "Greet somebody." in ended.out
    assert "Not this one." not in ended.out
    assert "At length" not in ended.out
    assert "  lost" in ended.out
    assert all(summary(target) for target in OWN.values())


@pytest.mark.parametrize("name", [name for name, target in OWN.items() if target.endswith(":app")])
def test_a_group_says_the_same_in_both_helps(name):
    module, _, app_ = OWN[name].partition(":")
    assert summary(OWN[name]) == getattr(importlib.import_module(module), app_).info.help


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from hooke.cli.group import app\n"
        "try: app(['--help'], prog_name='hooke')\n"
        "except SystemExit: pass\n"
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.endswith("heavy: []\n")


def test_a_joined_command_runs_and_our_names_win(hooke, joiner):
    assert hooke("greet", "you", "--loud", env=joiner).out == "hello you!\n"
    assert "Usage: hooke greet" in hooke("greet", env=joiner).err
    assert "--run-dir" in hooke("run", "--help", env=joiner).out


def test_unknown_command(hooke):
    ended = hooke("rnu")
    assert ended.status == 2
    assert "no command is called 'rnu'; there are: run, algorithms, workloads, hardware" in ended.err


def test_version(hooke):
    import hooke as package

    assert hooke("--version").out == f"hooke {package.__version__}\n"


@pytest.mark.parametrize(
    ("kind", "known"), [("algorithms", algorithm.catalogue()), ("workloads", workload.catalogue())]
)
def test_catalogues(kind, known):
    """In this process: others of these tests start the command."""
    table, data = (CliRunner().invoke(app, [kind, *more], prog_name="hooke") for more in ((), ("--json",)))
    assert table.exit_code == data.exit_code == 0, table.output + data.output
    items = json.loads(data.stdout)
    assert [item["name"] for item in items] == list(known)
    for item in items:
        assert item["schema"]["type"] == "object"
        assert item["documentation"]
        assert f"\n{item['name']} " in table.stdout
