"""Schedulers against one another over a suite of cases: played, ranked, reported."""
