"""MF-Storm (PeerJ Computer Science 2022): maximum-flow placement on a heterogeneous cluster."""
