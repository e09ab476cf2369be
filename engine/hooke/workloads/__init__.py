"""One data set, model and loss each; importing the package makes files of three functions workloads, too."""

from hooke.catalogue.function_files import read_functions
from hooke.objective import own_workload

read_functions(own_workload)
