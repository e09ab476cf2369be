"""The MPI world: ranks are processes."""
