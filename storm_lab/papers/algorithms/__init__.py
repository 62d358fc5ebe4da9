"""What the papers claim about their algorithms alone.

These claims concern placements, cycles and checksums. They need no emulated experiment.
"""
