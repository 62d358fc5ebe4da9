"""Running experiments: emulations in processes, notebooks, and what may be reused from before."""
