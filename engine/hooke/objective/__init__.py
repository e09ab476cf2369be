"""Objectives: a model as functions of one flat vector, its data and scoring, and user workloads."""
