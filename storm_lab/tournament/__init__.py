"""Tournaments of schedulers over a suite of cases: play, ranking and report."""
