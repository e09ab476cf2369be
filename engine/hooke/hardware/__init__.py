"""The machine: what a run was measured on, how it is built, and which part of it a rank gets.

`describe` and its parts name the host; `topology.read` sees its structure; `placement.plan` divides it among
ranks; `placing.place` puts the calling rank there. Nothing here imports torch, NumPy or MPI.
"""
