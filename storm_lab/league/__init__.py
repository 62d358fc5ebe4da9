"""The reader's own topology, machines and schedulers."""
