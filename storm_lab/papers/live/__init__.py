"""Comparisons that no paper prints: the emulator against real Storm."""
