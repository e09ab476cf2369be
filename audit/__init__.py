"""An independent audit of the product: its results and its clocks, compared with the published equations.

`python -m audit` starts runs with the command `hooke run`, like a user, with a workload that is not part of the
product (`own/workloads/sine_net.py`), and compares the results with float64 simulations of the equations. Nothing
here imports the product, its tests or its benchmarks.
"""
