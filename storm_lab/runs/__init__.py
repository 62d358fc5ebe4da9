"""Running experiments: playing emulations, executing notebooks, and reusing earlier results."""
