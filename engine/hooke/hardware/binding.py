"""Memory placement by the kernel's memory policy.

Works without privileges. If the kernel refuses (for example because of a container's filter), the run gets a note
instead of an error: with memory elsewhere it is slower, not wrong. Source: set_mempolicy(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Sequence

SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "ppc64le": 261, "riscv64": 237, "s390x": 270}
"""Number of the system call by architecture; libnuma is often not installed."""
DEFAULT, PREFERRED, INTERLEAVE, PREFERRED_MANY = 0, 1, 3, 5
_preferring = False
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)


def prefer(nodes: Sequence[int]) -> tuple[str, str]:
    """Prefer memory of these nodes for this thread and the threads that it will start.

    Returns (action, error), one of them empty. When the nodes are full, memory comes from other nodes; MPOL_BIND
    is not used, because the kernel would kill the process then. For several nodes this policy exists since Linux
    5.15; before, pages are interleaved between them.
    """
    global _preferring  # noqa: PLW0603
    choices = [(PREFERRED, "preferred")] if len(nodes) == 1 else [(PREFERRED_MANY, "preferred")]
    if len(nodes) > 1:
        choices.append((INTERLEAVE, "interleaved"))
    problem = "no nodes were named"
    for policy, word in choices if nodes else ():
        problem = _set_mempolicy(policy, nodes)
        if not problem:
            _preferring = True
            return word, ""
    return "", problem


def release() -> str:
    """Undo `prefer`, but keep a policy set by numactl; return an error message, or an empty string."""
    global _preferring  # noqa: PLW0603 - the process has one main thread
    failed = _set_mempolicy(DEFAULT, ()) if _preferring else ""
    _preferring = False
    return failed


def _set_mempolicy(policy: int, nodes: Sequence[int]) -> str:
    call = SET_MEMPOLICY.get(platform.machine())
    if call is None:
        return f"how to bind memory is not known for {platform.machine()}"
    words = (max(nodes) // _WORD + 1) if nodes else 0
    mask = (ctypes.c_ulong * max(1, words))()
    for node in nodes:
        mask[node // _WORD] |= 1 << node % _WORD
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        # The kernel reads one bit less than the given size.
        status = libc.syscall(
            ctypes.c_long(call),
            ctypes.c_int(policy),
            mask if nodes else None,
            ctypes.c_ulong(words * _WORD + bool(nodes)),
        )
    except (OSError, AttributeError) as error:
        return f"there is no system call to bind memory: {error}"
    if status != 0:
        number = ctypes.get_errno()
        return f"the kernel refuses to bind memory to nodes {list(nodes)}: {os.strerror(number)}"
    return ""
