"""An audit of the product from outside: what it computes, and what its clocks say, against equations alone.

`python -m audit` starts runs as a user does, by the command `hooke run`, with a workload that nothing in the
product knows (`own/workloads/sine_net.py`), and compares what they leave with simulations in float64 that are
written here, from the equations. Nothing here imports the product, its tests or its benchmarks.
"""
