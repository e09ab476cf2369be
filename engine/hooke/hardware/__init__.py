"""The machine: what a run was measured on, how it is built, and which part of it a rank gets.

`describe` and its parts name the host; `topology.read` sees its structure; `placement.plan` divides it among
ranks; `placing.place` puts the calling rank there. Nothing here imports torch, NumPy or MPI.
"""

from hooke.hardware.description import (
    bf16_unit,
    cpu_generation,
    cpu_model,
    describe,
    mpi_library,
    usable_cores,
    usable_memory,
)

__all__ = [
    "bf16_unit",
    "cpu_generation",
    "cpu_model",
    "describe",
    "mpi_library",
    "usable_cores",
    "usable_memory",
]
