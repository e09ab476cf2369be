"""Reads files of the kernel, under a `root` where /proc and /sys are mounted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath


def text(path: Path) -> str:
    """Return a file's stripped text; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:  # another kernel, another mount, no permission
        return ""


def number(path: Path) -> int | None:
    """Return the integer in a file, or None."""
    found = text(path)
    return int(found) if found.removeprefix("-").isdigit() else None


def parse_list(ranges: str) -> frozenset[int]:
    """Return the numbers of a kernel list such as "0-3,8"; empty for anything else."""
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit() and (last or first).isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def write_list(numbers: Iterable[int]) -> str:
    """Return numbers in the kernel's list format: "0-3,8"."""
    parts: list[list[int]] = []
    for value in sorted(set(numbers)):
        if parts and value == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], value]
        else:
            parts.append([value])
    return ",".join("-".join(map(str, part)) for part in parts)


def status(root: Path, key: str) -> str:
    """Return one line of /proc/self/status without its key; empty if there is none."""
    for line in text(root / "proc/self/status").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return value.strip()
    return ""


def groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control group and of its ancestors, in version 2 and in version 1."""
    for line in text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names == "":
            mounts = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif controller in names.split(","):
            mounts = [root / "sys/fs/cgroup" / names, root / "sys/fs/cgroup" / controller]
        else:
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for mount in mounts:
            yield from (mount / step for step in (inside, *inside.parents))


def cpu_quota(root: Path) -> float | None:
    """Return the CPU quota of the control groups in processors, or None if there is no limit."""
    quotas = []
    for folder in groups(root, "cpu"):
        quota, _, period = text(folder / "cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            quotas.append(int(quota) / int(period))
        quota, period = text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():
            quotas.append(int(quota) / int(period))
    return min((quota for quota in quotas if quota > 0), default=None)


def cpuset(root: Path, what: str) -> frozenset[int] | None:
    """Return the `cpus` or `mems` of the innermost cpuset that lists any, or None."""
    for folder in groups(root, "cpuset"):
        for name in (f"cpuset.{what}.effective", f"cpuset.effective_{what}", f"cpuset.{what}"):
            if found := parse_list(text(folder / name)):
                return found
    return None
