"""Calibration: the shared constants of the cost model, fitted once on a few named targets, then frozen."""
