"""Locality-sensitive hashing of the rows of wide layers, and kernels that train only rows that samples touch.

`families` (hash functions), `tables` (buckets, rebuilds, queries), `active` (active sets), `schedule` (when to
rebuild) and `rows` (forward, gradient and optimizer steps of touched rows) build on `kernels` and its neighbours,
which numba compiles. Import these modules inside functions only: they need numba and NumPy, which the API host
and the catalogue do without. Method: Chen et al., SLIDE, MLSys 2020 (arXiv 1903.03129); deviations from its
released code are listed in docs/decisions/0058-hashing-by-numba.md.
"""
