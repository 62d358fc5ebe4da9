"""Conditions under which a site is played: costs, timers, settings, faults and a fixed placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import UnionType
from typing import Any

from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.times import ControlTimes, Timers
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError, check_known
from storm_lab.model import Assignment
from storm_lab.model.settings import SettingValue


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
        faults or of rows as in `FaultPlan.of_rows`.

        Raises:
            UserError: a site does not support a name, or a constant or fault does not exist.
        """
        known = [item.name for item in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"it supports: {', '.join(known)};"
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
