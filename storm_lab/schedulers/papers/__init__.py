"""Schedulers that the papers propose or compare with."""
