"""Energy by RAPL's counters, against a powercap tree made by hand: what is counted, and why it is not known."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hooke.cluster.energy import MOST_WATTS, PLACE, READ_EVERY, EnergyMeter

RANGE = 262_143_328_850
"""Microjoules of a package of 2^32 units of 2^-14 J, as Linux shows it."""


class Tree:
    """A /sys/class/powercap: `set` writes a counter, in joules."""

    def __init__(self, root: Path, **zones: str) -> None:
        """`zones`: such as p0="package-0", p0_1="dram", of which the parent is p0."""
        self.root = root
        for zone, name in zones.items():
            folder = self.folder(zone)
            folder.mkdir(parents=True)
            (folder / "name").write_text(f"{name}\n")
            (folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
            self.set(**{zone: 0})

    def folder(self, zone: str) -> Path:
        return self.root / PLACE / f"intel-rapl:{zone.removeprefix('p').replace('_', ':')}"

    def set(self, **joules: float) -> None:
        for zone, value in joules.items():
            (self.folder(zone) / "energy_uj").write_text(f"{round(value * 1e6)}\n")


def test_packages_and_their_memory_are_added_and_parts_of_packages_are_not(tmp_path):
    tree = Tree(tmp_path, p0="package-0", p0_0="core", p0_1="dram", p1="package-1", p1_0="dram", p2="psys")
    tree.set(p0=100, p0_0=90, p0_1=20, p1=50, p1_0=5, p2=1000)
    meter = EnergyMeter(tmp_path)
    meter.read(10)
    assert (meter.joules, meter.seconds, meter.lacking) == (0, 0, "")
    tree.set(p0=130, p0_0=115, p0_1=21, p1=54, p1_0=5.5, p2=2000)
    meter.read(12.5)
    assert (meter.joules, meter.seconds) == (30 + 1 + 4 + 0.5, 2.5)
    tree.set(p0=131)
    meter.read(15)
    assert (meter.joules, meter.seconds) == (36.5, 5)


def test_a_zone_of_psys_brings_no_parts(tmp_path):
    tree = Tree(tmp_path, p0="package-0", p1="psys", p1_0="dram")
    meter = EnergyMeter(tmp_path)
    meter.read(0)
    tree.set(p0=3, p1=9, p1_0=7)
    meter.read(5)
    assert meter.joules == 3


def test_a_counter_that_begins_anew_goes_on(tmp_path):
    tree = Tree(tmp_path, p0="package-0", p1="package-1")
    tree.set(p0=RANGE / 1e6 - 40, p1=7)
    meter = EnergyMeter(tmp_path)
    meter.read(0)
    tree.set(p0=60, p1=8)
    meter.read(1)
    assert meter.joules == pytest.approx(40 + 60 + 1, abs=0.001)


def test_a_counter_that_was_reset_is_no_energy(tmp_path):
    tree = Tree(tmp_path, p0="package-0")
    tree.set(p0=1000)
    meter = EnergyMeter(tmp_path)
    meter.read(0)
    tree.set(p0=0)
    meter.read(5)  # as much as 262 kJ in 5 s
    assert meter.joules is None
    assert "was reset" in meter.lacking
    assert MOST_WATTS * 5 < RANGE / 1e6 - 1000


def test_a_counter_without_its_range_cannot_begin_anew(tmp_path):
    tree = Tree(tmp_path, p0="package-0")
    (tree.folder("p0") / "max_energy_range_uj").unlink()
    tree.set(p0=10)
    meter = EnergyMeter(tmp_path)
    meter.read(0)
    tree.set(p0=2)
    meter.read(5)
    assert meter.joules is None


@contextmanager
def nobody():
    """Give up the rights of root, if there are any."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_without_permission_it_says_so():
    root = Path(tempfile.mkdtemp(prefix="hooke-powercap-"))
    root.chmod(0o755)
    try:
        tree = Tree(root, p0="package-0")
        counter = tree.folder("p0") / "energy_uj"
        counter.chmod(0)
        with nobody():
            meter = EnergyMeter(root)
            meter.read(0)
            meter.read(5)
        assert meter.joules is None
        assert meter.lacking.startswith(f"not readable here: permission denied on {counter} (since CVE-2020-8694")
        assert not meter.due(1e6)
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("folder", [None, "intel-rapl", "intel-rapl-mmio:0"])
def test_without_counters_it_says_where_they_were_looked_for(tmp_path, folder):
    if folder:
        (tmp_path / PLACE / folder).mkdir(parents=True)
        (tmp_path / PLACE / folder / "energy_uj").write_text("5\n")
    meter = EnergyMeter(tmp_path)
    assert meter.lacking == "not read yet"
    meter.read(0)
    assert (meter.joules, meter.lacking) == (None, f"not readable here: no counter of RAPL in {tmp_path / PLACE}")


def test_what_is_no_number_is_no_energy(tmp_path):
    tree = Tree(tmp_path, p0="package-0")
    (tree.folder("p0") / "energy_uj").write_text("")
    meter = EnergyMeter(tmp_path)
    meter.read(0)
    assert meter.lacking.endswith("energy_uj: no number")


@pytest.mark.parametrize("zone", ["p1", "p0_1"])
def test_a_zone_that_goes_away_or_appears_ends_the_count(tmp_path, zone):
    tree = Tree(tmp_path, p0="package-0", p0_1="dram", p1="package-1")
    aside = tmp_path / "aside"
    meter, late = EnergyMeter(tmp_path), EnergyMeter(tmp_path)
    meter.read(0)
    shutil.move(tree.folder(zone), aside)
    late.read(0)
    tree.set(p0=5)
    meter.read(5)
    late.read(5)
    assert (meter.joules, late.joules) == (None, 5)
    assert f"{tree.folder(zone).name} appeared or went away" in meter.lacking
    shutil.move(aside, tree.folder(zone))
    for each in (meter, late):
        each.read(10)
        assert each.joules is None  # the sum would lack what was used meanwhile


def test_it_is_to_be_read_often_enough(tmp_path):
    tree = Tree(tmp_path, p0="package-0")
    meter = EnergyMeter(tmp_path)
    assert not meter.due(1e9)
    meter.read(100)
    assert not meter.due(99 + READ_EVERY)
    assert meter.due(100 + READ_EVERY)
    hungry = 500  # W, more than packages of today
    assert 4 * READ_EVERY * hungry < RANGE / 1e6
    shutil.rmtree(tree.folder("p0"))
    meter.read(101)
    assert not meter.due(1e9)
