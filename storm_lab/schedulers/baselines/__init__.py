"""Baseline policies for comparison: random placement, graph partitioning, and the optimum."""
