"""On what a live run was played: versions, machine, quotas, and the machine's load meanwhile."""

from __future__ import annotations

import itertools
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from storm_lab.live.hosts import machine_mhz
from storm_lab.live.running_storm import RunningStorm
from storm_lab.live.sampler import Sample


def conditions(storm: RunningStorm, samples: Sequence[Sample]) -> dict[str, Any]:
    """On what a run was played, for its manifest: versions, machine, quotas, and its load meanwhile."""
    cluster = storm.cluster
    quotas = {node.id: storm.host(node.id).cores for node in cluster.nodes}
    facts: dict[str, Any] = {
        "storm": storm.release.version,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "core_mhz": round(machine_mhz()),
        "quota_cores": quotas,
        "unrealised": list(storm.unrealised),
        # Of the cluster, not of this run alone: a worker that does not fit its node.
        "memory_kills": {node: kills for node in quotas if (kills := storm.host(node).memory_kills())},
    }
    if len(samples) > 1:
        first, last = samples[0], samples[-1]
        seconds = (last.time_ns - first.time_ns) / 1e9
        own = sum(
            use.cpu_ns - first.hosts[node].cpu_ns for node, use in last.hosts.items() if node in first.hosts
        )
        busy = (last.busy_ns - first.busy_ns) / 1e9 / seconds
        facts["busy_cores"] = round(busy, 3)
        facts["storm_cores"] = round(own / 1e9 / seconds, 3)
        facts["load_average"] = round(max(sample.load_average for sample in samples), 2)
        facts["throttled"] = {
            node: round((use.throttled - first.hosts[node].throttled) / periods, 4)
            for node, use in last.hosts.items()
            if node in first.hosts and (periods := use.periods - first.hosts[node].periods) > 0
        }
    return facts


def windows_of(samples: Sequence[Sample], origin_ns: int) -> dict[str, Any]:
    """The machine from window to window.

    End in s, cores that were busy, and of each host the cores that it used, the part of its quota periods in
    which it was held back, and how many threads of its workers waited for a core on average. Lists of one
    length.
    """
    found: dict[str, Any] = {"end_s": [], "busy_cores": [], "hosts": {}}
    for before, after in itertools.pairwise(samples):
        if (span_ns := after.time_ns - before.time_ns) <= 0:
            continue
        found["end_s"].append(round((after.time_ns - origin_ns) / 1e9, 3))
        found["busy_cores"].append(round((after.busy_ns - before.busy_ns) / span_ns, 3))
        waits = _waits(before, after)
        for node, new in after.hosts.items():
            old = before.hosts.get(node, new)
            rows = found["hosts"].setdefault(node, {"used_cores": [], "throttled": [], "waiting": []})
            periods = max(1, new.periods - old.periods)
            rows["used_cores"].append(round((new.cpu_ns - old.cpu_ns) / span_ns, 3))
            rows["throttled"].append(round((new.throttled - old.throttled) / periods, 3))
            rows["waiting"].append(round(waits.get(node, 0) / span_ns, 3))
    return found


def _waits(before: Sample, after: Sample) -> dict[str, int]:
    """Time that workers' threads have waited for a core between two looks, by node."""
    earlier = {seen.worker.pid: seen.waited_ns for seen in before.workers}
    found: dict[str, int] = {}
    for seen in after.workers:
        node = seen.worker.slot.node
        found[node] = found.get(node, 0) + seen.waited_ns - earlier.get(seen.worker.pid, 0)
    return found


def machine_name() -> str:
    """What this machine is called among others: after its processor, as ``amd-epyc``."""
    told = re.sub(r"\(.*?\)|@.*|\b(cpu|processor)\b", " ", processor().lower())
    return "-".join(re.findall(r"[a-z0-9]+", told)) or "machine"


def processor() -> str:
    """The processor's name as the kernel tells it, else the architecture's."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
