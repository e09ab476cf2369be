"""What is trained: a model as functions of one flat vector, its data and scoring, and workloads of users."""
