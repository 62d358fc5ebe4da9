"""Immutable model objects: topology, component, grouping, cluster, node, slot, executor and assignment."""

from storm_lab.model.assignment import Assignment, InvalidAssignmentError, check_assignment
from storm_lab.model.cluster import Cluster, Node, Slot, check_slots
from storm_lab.model.executor import Executor, MeasuredLoad, acker_count, executors_of
from storm_lab.model.topology import ACKER, Component, Grouping, Resources, Subscription, Topology
from storm_lab.model.version import StormVersion

__all__ = [
    "ACKER",
    "Assignment",
    "Cluster",
    "Component",
    "Executor",
    "Grouping",
    "InvalidAssignmentError",
    "MeasuredLoad",
    "Node",
    "Resources",
    "Slot",
    "StormVersion",
    "Subscription",
    "Topology",
    "acker_count",
    "check_assignment",
    "check_slots",
    "executors_of",
]
