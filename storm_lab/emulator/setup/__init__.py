"""Connects plain Python to the compiled kernel: lays out its arrays, runs it, and writes out its rows."""
