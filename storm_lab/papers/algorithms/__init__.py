"""What the papers claim of their algorithms alone.

Placements, cycles and checksums, without an emulation of an experiment.
"""
