"""What can be run: algorithms, workloads, where they are found; and the validation of what a user asks for."""
