"""The runs that figures 5, 6 and 8 are made of: Storm once and T-Storm once per gamma, for every seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.tstorm.testbed import STORM, tstorm_variant

TSTORM_ONLY = ("alpha", "generation_s", "fetch_s", "capacity_fraction", "overload_windows")
"""Parameters that a run under Storm's own scheduler does not depend on."""


def gamma_settings(
    declared: Iterable[Parameter],
    parameters: Parameters,
    gammas: Sequence[float],
    *,
    apart: Iterable[str] = (),
) -> list[tuple[str, Parameters]]:
    """Variant and parameters of each run, Storm's first.

    Storm's run holds none of T-Storm's parameters, and none holds ``gammas``, ``seeds`` or those set
    ``apart`` (files, values that are tried one at a time): a run that does not depend on a value is played
    once for all of them.
    """
    left_out = {"gammas", "seeds", *apart}
    shared = [parameter.name for parameter in declared if parameter.name not in left_out]
    storm = parameters.only(name for name in shared if name not in TSTORM_ONLY)
    tstorm = parameters.only(shared)
    return [(STORM, storm)] + [
        (tstorm_variant(gamma), tstorm.changed(gamma=gamma)) for gamma in dict.fromkeys(gammas)
    ]
