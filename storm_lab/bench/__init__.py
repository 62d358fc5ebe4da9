"""Benchmarks: how long things take, against size."""
