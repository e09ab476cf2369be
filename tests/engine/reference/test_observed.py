"""Where the equations that a method names are found."""

import numpy as np
import pytest

from tests.checkout import ROOT
from tests.engine.reference.observed import Observed, equations


def run(**values):
    """Return a run of two workers without gradients, in which each is the other's only peer."""
    return Observed(
        values={"lr": 0.1, "momentum": 0.0, "momentum_kind": "heavy-ball", **values},
        workers=2,
        steps=(1, 1),
        served=(),
        gradient=lambda i, t, x: np.full(3, float(i)),
        start=np.ones(3),
        shapes=((3,),),
        normal=np.zeros,
        seed=1,
    )


def test_a_function_of_this_repository_is_found_first(monkeypatch, tmp_path):
    (tmp_path / "descent.py").write_text("def one_process(run): ...\ndef gradient_averaging(run): ...\n")
    monkeypatch.setenv("HOOKE_PATH", str(tmp_path))
    assert equations("descent.gradient_averaging").__module__ == "tests.engine.reference.methods.descent"
    assert equations("descent.one_process").__code__.co_filename == str(tmp_path / "descent.py")


def test_the_equations_of_the_example_lie_beside_it(monkeypatch):
    monkeypatch.setenv("HOOKE_PATH", str(ROOT / "examples/own"))
    found = equations("reference.gossip.elastic_gossip")
    assert found.__code__.co_filename == str(ROOT / "examples/own/reference/gossip.py")
    (first, second), mean = found(run(rate=0.3))
    np.testing.assert_allclose(first, np.ones(3))
    np.testing.assert_allclose(second, np.full(3, 0.9))
    np.testing.assert_allclose(mean, np.full(3, 0.95))


def test_the_first_folder_that_has_it_counts(monkeypatch, tmp_path):
    for folder, text in (("a", "other = 1\n"), ("b", "def mine(run): return 'b'\n"), ("c", "1 / 0\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(text)
    monkeypatch.setenv("HOOKE_PATH", ":".join(str(tmp_path / folder) for folder in ("none", "a", "b", "c")))
    assert equations("own.mine")(run()) == "b"


def test_what_is_missing_or_broken_is_told(monkeypatch, tmp_path):
    (tmp_path / "own.py").write_text("import nothing_of_this_name\n")
    monkeypatch.setenv("HOOKE_PATH", str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        equations("own.mine")
    with pytest.raises(ImportError, match=f"no function 'mine'.*{tmp_path}/reference/absent.py"):
        equations("reference.absent.mine")
