"""Topologies written for real Storm, read from their own formats: Flux, storm-loadgen, streamparse, pages of
Storm's UI, and a plain YAML of ours.

A file is data: nothing of it is run, unless it is asked for in so many words (`import_topology` with
``run_python``). What a format does not say comes from an overlay file, from running Python components, or
from a default; every default is told in the result. What could not be used is told with its place.
"""
