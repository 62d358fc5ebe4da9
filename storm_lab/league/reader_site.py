"""A reader's own site: their topology with its input, on their machines, under any schedulers.

The schedulers play as `storm_lab.league.entrant` says: as Nimbus's own, or, on measured load, in T-Storm's
place. Machines, topology and input are the reader's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan, check_source
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, unknown_name
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import PARAMETERS, STEADY_S
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.identity.value import value_digest
from storm_lab.league.entrant import Entrant
from storm_lab.model import Cluster, StormVersion, Topology, check_slots
from storm_lab.model.version import V0_8_2
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Bolt, Spout


@dataclass(frozen=True)
class Site:
    """A topology with what flows through it, and the machines that it runs on; make one with `Site.of`."""

    plan: TopologyPlan
    cluster: Cluster
    version: StormVersion = V0_8_2

    @classmethod
    def of(
        cls,
        topology: Topology,
        code: Mapping[str, Spout | Bolt],
        cluster: Cluster,
        *,
        sources: Mapping[str, float | SourcePlan],
        version: StormVersion = V0_8_2,
    ) -> Site:
        """A site; the user code runs here, once.

        Args:
            topology: components, groupings and how many workers are asked for.
            code: user code by component.
            cluster: the worker nodes; Nimbus and ZooKeeper have machines of their own.
            sources: by spout, the lines per second of all its executors together, or a plan.
            version: the Storm version that is played.

        Raises:
            UserError: the parts do not fit; names the component, the spout or the node.
        """
        check_slots(cluster)
        plans: dict[str, SourcePlan] = {}
        spouts = [spout.id for spout in topology.spouts]
        for name, given in sources.items():
            if name not in spouts:
                raise unknown_name("spout", name, spouts, "the topology", field="sources")
            plan = given if isinstance(given, SourcePlan) else SourcePlan(SourceKind.RATE, rate_per_s=given)
            check_source(name, plan)
            plans[name] = plan
        missing = [name for name in spouts if name not in plans]
        if missing:
            raise UserError(
                "the spout has no source", field="sources", value=missing[0], remedy="give its rate"
            )
        return cls(TopologyPlan(topology, build_trace(topology, code, version), plans), cluster, version)

    @cached_property
    def digest(self) -> str:
        """Digest of topology, input, sources and machines, so that a changed site is played anew."""
        return value_digest((self.plan, self.cluster, self.version))

    @property
    def declared(self) -> tuple[Parameter, ...]:
        """Seeds, length, and the settings of monitors and schedule generator."""
        return PARAMETERS

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Digest of the site."""
        return {"site": self.digest}

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """None: the user code has run already."""
        return {}

    def describe(self, entrant: Entrant, spec: RunSpec) -> EmulationSpec:
        """Describe the run of an entrant."""
        control = entrant.control(spec.parameters)
        duration_s = spec.parameters.number("duration_s")
        return EmulationSpec(
            cluster=self.cluster,
            version=spec.storm_version,
            topologies=(self.plan,),
            scheduler=control.scheduler,
            duration_s=duration_s,
            seed=spec.seed,
            services=control.services,
            migration=control.migration,
            window_s=spec.parameters.number("monitor_s"),
            sample_every=spec.sample_every,
            warm_up_s=min(STEADY_S, duration_s / 2),
        )
