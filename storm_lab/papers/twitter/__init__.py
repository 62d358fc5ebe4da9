"""Storm@Twitter (SIGMOD 2014)."""
