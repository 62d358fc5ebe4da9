"""Fit the shared constants of the cost model once, on a few named targets; then they stay fixed."""
