"""N-Storm: re-assignment by threads, measured against Storm's rebalance and worker-level restart."""
