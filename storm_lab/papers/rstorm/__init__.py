"""R-Storm: Resource-Aware Scheduling in Storm (Peng and others, Middleware 2015)."""
