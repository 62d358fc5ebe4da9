"""Import topologies that were written for real Storm, from their own formats.

The formats are Flux, storm-loadgen, streamparse, pages of Storm's UI, and storm-lab's own YAML.

A file is data: none of its code is run unless `import_topology` is called with ``run_python``. What a format
does not state comes from an overlay file, from running Python components, or from a default. The result lists
every default, and everything that could not be used with its place.
"""

from storm_lab.workloads.importers.documents import Assumed, Place, Unusable
from storm_lab.workloads.importers.export import export_loadgen, export_topology
from storm_lab.workloads.importers.imported import Imported, Playable, Source
from storm_lab.workloads.importers.importing import import_topology
from storm_lab.workloads.importers.machines_file import load_machines

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
