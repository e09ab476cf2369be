"""What a host has besides processors, as the kernel's files say."""

import pytest
from hooke.hardware.equipment import driver, equipment, interconnect


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def port(root, device, rate, layer="InfiniBand", state="4: ACTIVE"):
    for name, text in (("rate", rate), ("link_layer", layer), ("state", state)):
        write(root, f"sys/class/infiniband/{device}/ports/1/{name}", text)


def adapter(root, name, speed, state="up"):
    write(root, f"sys/class/net/{name}/speed", speed)
    write(root, f"sys/class/net/{name}/operstate", state)


def test_infiniband_is_told_before_ethernet_and_ports_without_cable_are_not(tmp_path):
    adapter(tmp_path, "eth0", "10000")
    assert interconnect(tmp_path) == "Ethernet 10 Gb/s"
    port(tmp_path, "mlx5_2", "40 Gb/sec (4X QDR)", state="1: DOWN")
    assert interconnect(tmp_path) == "Ethernet 10 Gb/s"
    port(tmp_path, "mlx5_0", "200 Gb/sec (4X HDR)")
    port(tmp_path, "mlx5_1", "200 Gb/sec (4X HDR)")
    assert interconnect(tmp_path) == "2 x InfiniBand 200 Gb/s (4X HDR)"
    port(tmp_path, "roce0", "100 Gb/sec (4X EDR)", "Ethernet")
    assert interconnect(tmp_path) == "2 x InfiniBand 200 Gb/s (4X HDR), 1 x RoCE 100 Gb/s (4X EDR)"


@pytest.mark.parametrize("speed", ["-1", "0", ""])
def test_adapters_of_unknown_speed_are_told_as_such(tmp_path, speed):
    adapter(tmp_path, "veth0", speed)
    adapter(tmp_path, "lo", "100000")
    adapter(tmp_path, "eth1", "25000", "down")
    assert interconnect(tmp_path) == "Ethernet of unknown speed"


def test_devices_are_counted_and_the_driver_is_read(tmp_path):
    for i, model in enumerate(("H100 80GB", "H100 80GB", "A40")):
        write(tmp_path, f"proc/driver/nvidia/gpus/0000:0{i}:00.0/information", f"Model: \t NVIDIA {model}")
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024"
    write(tmp_path, "proc/driver/nvidia/version", version)
    found = equipment(tmp_path)
    assert found["gpus"] == "2 x NVIDIA H100 80GB, 1 x NVIDIA A40"
    assert found["gpu_driver"] == driver(tmp_path) == "550.54.15"
    assert str(found["mpi_cuda"]).startswith("not known: ")
    assert "gpu_driver" not in equipment(tmp_path / "elsewhere")
