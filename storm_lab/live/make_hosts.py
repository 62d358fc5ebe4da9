"""Which kind of hosts a cluster gets here."""

from __future__ import annotations

from storm_lab.errors import UserError
from storm_lab.live.hosts import HostOptions, Hosts
from storm_lab.live.loopback_hosts import LoopbackHosts
from storm_lab.live.namespace_hosts import NamespaceHosts
from storm_lab.live.netns import why_no_namespaces
from storm_lab.live.records import Place
from storm_lab.model.cluster import Cluster


def make_hosts(place: Place, cluster: Cluster, options: HostOptions) -> Hosts:
    """The hosts that this machine and the user's wish allow; not made yet.

    Raises:
        UserError: namespaces are asked for and cannot be made.
    """
    if options.kind == "loopback":
        return LoopbackHosts(place, cluster)
    why = why_no_namespaces()
    if why is None:
        return NamespaceHosts(place, cluster, options)
    if options.kind == "namespaces":
        raise UserError(
            f"network namespaces cannot be made: {why}",
            field="hosts",
            value=options.kind,
            remedy="run as root, or choose loopback",
        )
    return LoopbackHosts(place, cluster, why)
