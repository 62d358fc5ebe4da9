"""The user's own site: a topology with its input on machines, to try the entrants of a league on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from types import UnionType
from typing import Any, ClassVar

from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.times import ControlTimes, Timers
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan, check_source
from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.errors import UserError, check_known
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import PARAMETERS, STEADY_S
from storm_lab.experiments.parameter import Parameters
from storm_lab.identity.value import value_digest
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import SAMPLE_EVERY, SETTLE_S
from storm_lab.model import Assignment, Cluster, StormVersion, Topology, check_slots
from storm_lab.model.settings import SettingValue
from storm_lab.model.topology import MAX_TIME_S
from storm_lab.model.version import V0_8_2
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Bolt, Spout


@dataclass(frozen=True)
class Conditions:
    """What may be set for the runs of a site besides topology, machines and scheduler.

    These are parts of a `storm_lab.emulator.spec.EmulationSpec`.

    Args:
        cost: costs of the message path.
        times: durations of the control plane.
        timers: Storm's periods and timeouts; None for those of the version, with the settings applied.
        zookeeper: ZooKeeper's speed and other load.
        settings: Storm's settings by full key, as in the ``storm.yaml`` of all machines.
        faults: faults of the cluster and their times.
        placement: the first assignment, fixed by hand; a policy on measured load starts from it.
    """

    cost: CostModel = field(default_factory=CostModel)
    times: ControlTimes = field(default_factory=ControlTimes)
    timers: Timers | None = None
    zookeeper: ZooKeeperPlan = field(default_factory=ZooKeeperPlan)
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    faults: FaultPlan = field(default_factory=FaultPlan)
    placement: Assignment | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Conditions:
        """Build conditions from values by name; the names are the fields above.

        Cost and times may also be mappings with only the constants that differ, and faults may be a list of
        faults or of rows as in `FaultPlan.of_rows`. Raises `UserError` if a site does not support a name, or
        a constant or fault does not exist.
        """
        for name in (name for name in given if name not in _KINDS):
            near = get_close_matches(name, _KINDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it supports: {', '.join(_KINDS)};"
            remedy = f"{hint} use an EmulationSpec for everything else"
            raise UserError("a site does not support this", field=name, remedy=remedy)
        values = dict(given)
        for name, model in (("cost", CostModel()), ("times", ControlTimes())):
            if isinstance(values.get(name), Mapping):
                values[name] = with_constants(model, values[name], name)
        if isinstance(values.get("faults"), list | tuple):
            plans = [
                FaultPlan((each,)) if isinstance(each, Fault) else FaultPlan.of_rows([each])
                for each in values["faults"]
            ]
            values["faults"] = FaultPlan(tuple(fault for plan in plans for fault in plan.faults))
        for name, value in values.items():
            kind, form = _KINDS[name]
            if not isinstance(value, kind):
                raise UserError("has the wrong type", field=name, value=value, remedy=f"give {form}")
        return cls(**values)


_KINDS: Mapping[str, tuple[type | UnionType, str]] = {
    "cost": (CostModel, "a CostModel, or the constants that differ by name"),
    "times": (ControlTimes, "ControlTimes, or the durations that differ by name"),
    "timers": (Timers | None, "Timers"),
    "zookeeper": (ZooKeeperPlan, "a ZooKeeperPlan"),
    "settings": (Mapping, "values by Storm's full keys"),
    "faults": (FaultPlan, "a FaultPlan, or a list of faults"),
    "placement": (Assignment | None, "an Assignment of slots by executor"),
}


def with_constants(model: Any, given: Mapping[str, float], field: str) -> Any:
    """Return ``model`` with some constants replaced; `UserError` for an unknown one.

    Ranges are checked when a run is played.
    """
    known = [item.name for item in fields(model)]
    for name in given:
        check_known("constant", name, known, type(model).__name__, field=field)
    return replace(model, **given)


@dataclass(frozen=True)
class Site:
    """A topology with its input, and the machines that it runs on; make one with `Site.of`."""

    plan: TopologyPlan
    cluster: Cluster
    version: StormVersion = V0_8_2
    conditions: Conditions = field(default_factory=Conditions)

    declared: ClassVar = PARAMETERS
    """Seeds, duration, and the settings of monitors and schedule generator."""
    sample_every: ClassVar = SAMPLE_EVERY
    """The same for all leagues."""

    @classmethod
    def of(
        cls,
        topology: Topology,
        code: Mapping[str, Spout | Bolt],
        cluster: Cluster,
        *,
        sources: Mapping[str, float | SourcePlan],
        version: StormVersion = V0_8_2,
        max_spout_pending: int | None = None,
        **conditions: Any,
    ) -> Site:
        """Make a site. This executes the user code once.

        Args:
            topology: components, groupings and the number of workers asked for.
            code: user code by component.
            cluster: the worker nodes; Nimbus and ZooKeeper have machines of their own.
            sources: by spout, the lines per second of all its executors together, or a plan.
            version: the Storm version to play.
            max_spout_pending: limit of pending tuples per spout task; None keeps the topology's own.
            conditions: costs, settings, faults and more, by the names of `Conditions`.

        Raises:
            UserError: the parts do not fit together, or a site does not support something; names the
                component, the spout, the node or the condition.
        """
        check_slots(cluster)
        under = Conditions.of(conditions)
        if max_spout_pending is not None:
            topology = replace(topology, max_spout_pending=max_spout_pending)
        plans: dict[str, SourcePlan] = {}
        spouts = [spout.id for spout in topology.spouts]
        for name, given in sources.items():
            check_known("spout", name, spouts, "the topology", field="sources")
            plan = given if isinstance(given, SourcePlan) else SourcePlan(SourceKind.RATE, rate_per_s=given)
            check_source(name, plan)
            plans[name] = plan
        for name in spouts:
            if name not in plans:
                message, remedy = "the spout has no source", "give its rate"
                raise UserError(message, field="sources", value=name, remedy=remedy)
        flow = TopologyPlan(topology, build_trace(topology, code, version), plans)
        site = cls(flow, cluster, version, under)
        # Report errors now and not when a league plays. Faults are checked again then, because its runs are
        # shorter.
        check_spec(site.spec(MAX_TIME_S))
        return site

    @cached_property
    def digest(self) -> str:
        """Digest of topology, input, sources and machines, so that a changed site is played again."""
        return value_digest((self.plan, self.cluster, self.version, self.conditions))

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Return the digest of the site."""
        return {"site": self.digest}

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """Return no files: the user code has been executed already."""
        return {}

    def describe(self, entrant: Entrant, spec: RunSpec) -> EmulationSpec:
        """Describe the run of an entrant."""
        duration_s = spec.parameters.number("duration_s")
        run = replace(
            self.spec(duration_s),
            seed=spec.seed,
            window_s=spec.parameters.number("monitor_s"),
            sample_every=spec.sample_every,
            warm_up_s=min(STEADY_S, duration_s / 2),
            # Moves that a fault causes are not the scheduler's choice, so they do not delay the measurement.
            settle_s=None if self.conditions.faults.faults else SETTLE_S,
        )
        return entrant.applied(run, spec.parameters)

    def spec(self, duration_s: float) -> EmulationSpec:
        """Describe a run under Storm's default scheduler."""
        return EmulationSpec(
            cluster=self.cluster,
            version=self.version,
            topologies=(self.plan,),
            scheduler=DefaultScheduler(),
            duration_s=duration_s,
            **vars(self.conditions),
        )
