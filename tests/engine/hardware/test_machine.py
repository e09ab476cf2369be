"""Which machine it is: the same for all agents of a kernel, another one for every other kernel."""

import re

from hooke.hardware.machine import machine


def root(tmp_path, name, **files):
    names = {"boot": "proc/sys/kernel/random/boot_id", "id": "etc/machine-id"}
    for kind, text in files.items():
        path = tmp_path / name / names[kind]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path / name


def test_containers_of_one_kernel_are_one_machine_and_machines_of_one_image_are_several(tmp_path):
    host = machine(root(tmp_path, "host", boot="boot-1", id="image"))
    assert host == machine(root(tmp_path, "container", boot="boot-1", id="of the container"))
    assert host != machine(root(tmp_path, "of the same image", boot="boot-2", id="image"))
    assert re.fullmatch("[0-9a-f]{32}", host)


def test_without_a_boot_id_the_machine_id_tells_and_without_both_a_file_that_is_kept(tmp_path):
    one, other = root(tmp_path, "one", id="a"), root(tmp_path, "other", id="b")
    assert machine(one) == machine(one) != machine(other)
    (tmp_path / "none").mkdir()
    assert machine(tmp_path / "none") == ""
    kept = machine(tmp_path / "none", tmp_path / "machine-id")
    assert (
        kept == machine(tmp_path / "none", tmp_path / "machine-id") != machine(tmp_path / "none", tmp_path / "x")
    )


def test_what_the_system_keeps_is_not_told(tmp_path):
    kept = "0123456789abcdef0123456789abcdef"
    assert machine(root(tmp_path, "one", boot=kept)) != kept
    assert machine() == machine()
