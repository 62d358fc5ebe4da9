"""Topologies written for real Storm, read from their own formats.

The formats are Flux, storm-loadgen, streamparse, pages of Storm's UI, and a plain YAML of ours.

A file is data: nothing of it is run, unless it is asked for in so many words (`import_topology` with
``run_python``). What a format does not say comes from an overlay file, from running Python components, or
from a default; every default is told in the result. What could not be used is told with its place.
"""

from storm_lab.workloads.importers.imported import Imported, Playable, Source
from storm_lab.workloads.importers.importing import import_topology
from storm_lab.workloads.importers.machines_file import load_machines
from storm_lab.workloads.importers.place import Assumed, Place, Unusable
from storm_lab.workloads.importers.plain import export_loadgen, export_topology

__all__ = [
    "Assumed",
    "Imported",
    "Place",
    "Playable",
    "Source",
    "Unusable",
    "export_loadgen",
    "export_topology",
    "import_topology",
    "load_machines",
]
