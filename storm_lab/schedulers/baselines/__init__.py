"""Points of reference: random placement, graph partitioning, and the optimum."""
