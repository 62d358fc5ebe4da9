"""Leagues on the user's own topology, machines and schedulers."""
