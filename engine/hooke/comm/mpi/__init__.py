"""The real world: ranks are processes, messages are those of MPI."""
