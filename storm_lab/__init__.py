"""storm_lab: the experiments of five papers on Apache Storm, re-run without a cluster."""

from storm_lab.version import __version__

__all__ = ["__version__"]
