"""What users' files may still call by an earlier name: such a file is not offered, and is told the new one."""

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
"""Module -> where it is now."""
MEMBERS = {
    "pace": "coordination (synchronous, parameter-server or lock-free)",
    "cautions": "warnings",
    "passes": "accesses",
    "server_passes": "server_accesses",
    "vector_passes": "vector_accesses",
}
"""Member of an algorithm -> what it is called now."""
