"""Run Storm components written in Python over real input, in a process of their own.

The process runs `storm_lab.workloads.multilang.main`. It installs modules named `streamparse`, `pystorm` and
`storm` with the interface of the real ones, so that spouts and bolts run unmodified, and records what they
do. The process that starts it takes only the plan and the language for topologies from this package.
"""
