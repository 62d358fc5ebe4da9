"""What the papers claim about their algorithms alone: placements, cycles and checksums."""
