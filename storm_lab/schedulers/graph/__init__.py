"""Topologies, traffic and placements as graphs."""
