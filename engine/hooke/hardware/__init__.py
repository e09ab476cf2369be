"""The machine: description of the host, its topology, and the placement of ranks.

`describe` and its parts describe the host; `topology.read` reads its structure; `placement.plan` divides it among
ranks; `placing.place` applies the plan to the calling rank. Nothing here imports torch, NumPy or MPI.
"""
