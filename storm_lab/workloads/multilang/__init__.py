"""Storm components written in Python, run in a process of their own over real input.

The process runs `storm_lab.workloads.multilang.main`. It puts modules named `streamparse`, `pystorm` and
`storm` in place that have the interface of the real ones, so that spouts and bolts run unmodified, and writes
down what they do. The process that asks for it imports `storm_lab.workloads.multilang.plan` only.
"""
