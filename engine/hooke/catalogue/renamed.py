"""Earlier names that users' files may still contain: such a file is not offered; its fault has the new name."""

MODULES = {
    "hooke.algorithm": "hooke.catalogue.algorithm",
    "hooke.rank": "hooke.catalogue.rank",
    "hooke.workload": "hooke.catalogue.workload",
    "hooke.descent": "hooke.methods.descent",
    "hooke.elastic": "hooke.methods.elastic",
    "hooke.lowrank": "hooke.methods.lowrank",
    "hooke.pieces": "hooke.methods.pieces",
    "hooke.batches": "hooke.objective.batches",
    "hooke.image_folder": "hooke.objective.image_folder",
    "hooke.loader": "hooke.objective.loader",
    "hooke.parts": "hooke.objective.parts",
    "hooke.spec": "hooke.spec.specification",
    "hooke.comm.mpi": "hooke.comm.mpi.communicator",
    "hooke.comm.virtual": "hooke.comm.virtual.communicator",
    "hooke.flat": "hooke.objective.flat",
    "hooke.samples": "hooke.objective.samples",
    "hooke.task": "hooke.objective.task",
    "hooke.models": "hooke.objective.models",
}
"""Earlier module -> its current name."""
MEMBERS = {
    "pace": "coordination (synchronous, parameter-server or lock-free)",
    "cautions": "warnings",
    "passes": "accesses",
    "server_passes": "server_accesses",
    "vector_passes": "vector_accesses",
}
"""Earlier member of an algorithm -> its current name."""
