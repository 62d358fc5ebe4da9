"""What the papers claim of their algorithms alone: placements, cycles and checksums, without an emulation of
an experiment.
"""
