"""Storm's settings by their full keys: those with an effect here, their allowed values and their versions.

A setting that is not listed would have no effect and is therefore refused. Settings of a topology belong in
`Topology.settings`; those of the daemons, and defaults for all topologies, which Storm reads from
``storm.yaml``, in the settings of an emulation. The versions of a key are those whose ``defaults.yaml``
contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from storm_lab.errors import UserError, unknown_name
from storm_lab.model.checks import Allowed
from storm_lab.model.version import V0_9_0, V0_9_2, V0_10_0, V1_0_0, V2_0_0, StormVersion

SettingValue = float | str | bool


@dataclass(frozen=True, slots=True)
class Setting(Allowed):
    """The allowed values of a setting: as `Allowed`, with the forms that Storm's YAML permits.

    A whole number may be given as a float without a fraction, and true and false as texts. The key exists
    from version ``since`` on and before ``until``. With ``power_of_two``, Storm before 2.0 accepts only
    powers of two.
    """

    low: float | None = 0.0
    since: StormVersion | None = None
    until: StormVersion | None = None
    power_of_two: bool = False

    def problem_with(self, value: object) -> str | None:
        """See `Allowed.problem_with`."""
        if self.kind is bool and isinstance(value, str):
            return None if value.lower() in ("true", "false") else "has the wrong type"
        if self.kind is str:
            return None if isinstance(value, str) and value else "has the wrong type"
        if self.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        return Allowed.problem_with(self, value)

    def exists_in(self, version: StormVersion) -> bool:
        """Return whether this version of Storm has the key."""
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)

    def is_valid_in(self, version: StormVersion, value: SettingValue) -> bool:
        """Return whether this version has the key and accepts the value, whose type is already checked."""
        wrong_size = self.power_of_two and version < V2_0_0 and int(value) & (int(value) - 1) != 0
        return self.exists_in(version) and not wrong_size


_BUFFER = 1 << 24

RECEIVE_BUFFER = "topology.executor.receive.buffer.size"
SEND_BUFFER = "topology.executor.send.buffer.size"
TRANSFER_BUFFER = "topology.transfer.buffer.size"
RECEIVER_BATCH = "topology.receiver.buffer.size"
PRODUCER_BATCH = "topology.producer.batch.size"
TRANSFER_BATCH = "topology.transfer.batch.size"
FLUSH_MS = "topology.batch.flush.interval.millis"
OVERFLOW_CHECK_MS = "topology.backpressure.check.millis"
DISRUPTOR_BATCH = "topology.disruptor.batch.size"
DISRUPTOR_FLUSH_MS = "topology.disruptor.batch.timeout.millis"
SPOUT_SLEEP_MS = "topology.sleep.spout.wait.strategy.time.ms"
SPOUT_SLEEP_2_MS = "topology.spout.wait.progressive.level3.sleep.millis"
BACK_PRESSURE = "topology.backpressure.enable"
DEBUG = "topology.debug"
LOAD_AWARE_OFF = "topology.disable.loadaware.messaging"
MESSAGE_TIMEOUTS = "topology.enable.message.timeouts"

ONHEAP = "topology.component.resources.onheap.memory.mb"
OFFHEAP = "topology.component.resources.offheap.memory.mb"
CPU = "topology.component.cpu.pcore.percent"
ACKER_ONHEAP = "topology.acker.resources.onheap.memory.mb"
ACKER_OFFHEAP = "topology.acker.resources.offheap.memory.mb"
ACKER_CPU = "topology.acker.cpu.pcore.percent"
MAX_HEAP = "topology.worker.max.heap.size.mb"
STRATEGY = "topology.scheduler.strategy"
STATE_LIMIT = "topology.ras.constraint.max.state.search"
ONE_EXECUTOR = "topology.ras.one.executor.per.worker"
ONE_COMPONENT = "topology.ras.one.component.per.worker"
ACKERS_PER_WORKER = "topology.ras.acker.executors.per.worker"
BY_PROXIMITY = "topology.ras.order.executors.by.proximity.needs"
ISOLATE_MACHINES = "topology.isolate.machines"

NETTY_HIGH = "storm.messaging.netty.buffer.high.watermark"
NETTY_LOW = "storm.messaging.netty.buffer.low.watermark"
NETTY_BUFFER = "storm.messaging.netty.buffer_size"
NETTY_RETRIES = "storm.messaging.netty.max_retries"
NETTY_MIN_WAIT = "storm.messaging.netty.min_wait_ms"
NETTY_MAX_WAIT = "storm.messaging.netty.max_wait_ms"
BOLT_PARKS = "topology.bolt.wait.progressive.level2.count"
BOLT_SLEEP_MS = "topology.bolt.wait.progressive.level3.sleep.millis"
ROOM_PARKS = "topology.backpressure.wait.progressive.level2.count"
ROOM_SLEEP_MS = "topology.backpressure.wait.progressive.level3.sleep.millis"

OF_TOPOLOGY: Mapping[str, Setting] = {
    # Read by schedulers. A scheduler that does not know a setting ignores it.
    ONHEAP: Setting(float),
    OFFHEAP: Setting(float),
    CPU: Setting(float),
    ACKER_ONHEAP: Setting(float),
    ACKER_OFFHEAP: Setting(float),
    ACKER_CPU: Setting(float),
    MAX_HEAP: Setting(float),
    STRATEGY: Setting(str),
    STATE_LIMIT: Setting(int),
    ONE_EXECUTOR: Setting(bool),
    ONE_COMPONENT: Setting(bool),
    ACKERS_PER_WORKER: Setting(int),
    BY_PROXIMITY: Setting(bool),
    ISOLATE_MACHINES: Setting(int, 1),
    # These affect the emulator's message path.
    RECEIVE_BUFFER: Setting(int, 1, _BUFFER, power_of_two=True),
    SEND_BUFFER: Setting(int, 1, _BUFFER, until=V2_0_0, power_of_two=True),
    TRANSFER_BUFFER: Setting(int, 1, _BUFFER, power_of_two=True),
    RECEIVER_BATCH: Setting(int, 1, 1000, until=V0_9_2),
    PRODUCER_BATCH: Setting(int, 1, 1 << 15, since=V2_0_0),
    TRANSFER_BATCH: Setting(int, 1, 1 << 15, since=V2_0_0),
    FLUSH_MS: Setting(int, 0, 60_000, since=V2_0_0),
    OVERFLOW_CHECK_MS: Setting(int, 1, 60_000, since=V2_0_0),
    DISRUPTOR_BATCH: Setting(int, 1, 1024, since=V1_0_0, until=V2_0_0),
    DISRUPTOR_FLUSH_MS: Setting(int, 1, 60_000, since=V1_0_0, until=V2_0_0),
    SPOUT_SLEEP_MS: Setting(int, 1, 60_000, until=V2_0_0),
    SPOUT_SLEEP_2_MS: Setting(int, 1, 60_000, since=V2_0_0),
    BACK_PRESSURE: Setting(bool, since=V1_0_0, until=V2_0_0),
    DEBUG: Setting(bool),
    LOAD_AWARE_OFF: Setting(bool, since=V1_0_0),
    MESSAGE_TIMEOUTS: Setting(bool),
}

_PERIOD = Setting(float, 0.001, 1e9)

TIMERS: Mapping[str, tuple[str, Setting]] = {
    "nimbus.monitor.freq.secs": ("nimbus_round_s", _PERIOD),
    "nimbus.task.timeout.secs": ("task_timeout_s", _PERIOD),
    "nimbus.task.launch.secs": ("task_launch_s", Setting(float, 0, 1e9)),
    "supervisor.heartbeat.frequency.secs": ("supervisor_heartbeat_s", _PERIOD),
    "supervisor.monitor.frequency.secs": ("process_sync_s", _PERIOD),
    "supervisor.worker.start.timeout.secs": ("worker_start_timeout_s", _PERIOD),
    "supervisor.worker.timeout.secs": ("worker_timeout_s", _PERIOD),
    "supervisor.worker.shutdown.sleep.secs": ("worker_shutdown_s", Setting(float, 0, 1e9, since=V0_10_0)),
    "worker.heartbeat.frequency.secs": ("worker_heartbeat_s", _PERIOD),
    "task.heartbeat.frequency.secs": ("task_heartbeat_s", Setting(float, 0.001, 1e9, until=V2_0_0)),
    "executor.metrics.frequency.secs": ("statistics_s", Setting(float, 0.001, 1e9, since=V2_0_0)),
    "task.refresh.poll.secs": ("refresh_s", _PERIOD),
}
"""Periods and time-outs of the daemons and workers, each with the timer that it sets."""

TIMERS_OF_SLOTS = {"supervisor.monitor.frequency.secs": "slot_running_s"}
"""Keys that set another timer from 1.0.3 on: there, a slot checks on its running worker."""

OF_CLUSTER: Mapping[str, Setting] = {
    # The connections between workers.
    NETTY_HIGH: Setting(int, 1, 1 << 40, since=V2_0_0),
    NETTY_LOW: Setting(int, 1, 1 << 40, since=V2_0_0),
    NETTY_BUFFER: Setting(int, 1, 1 << 40, since=V2_0_0),
    NETTY_RETRIES: Setting(int, 0, 1_000_000, since=V0_9_0, until=V2_0_0),
    NETTY_MIN_WAIT: Setting(int, 1, 3_600_000, since=V0_9_0),
    NETTY_MAX_WAIT: Setting(int, 1, 3_600_000, since=V0_9_0),
    # How often an idle bolt or acker, or an executor that waits for room, parks before it sleeps, and for
    # how long; here for the whole cluster.
    BOLT_PARKS: Setting(int, 0, 1_000_000, since=V2_0_0),
    BOLT_SLEEP_MS: Setting(int, 1, 60_000, since=V2_0_0),
    ROOM_PARKS: Setting(int, 0, 1_000_000, since=V2_0_0),
    ROOM_SLEEP_MS: Setting(int, 1, 60_000, since=V2_0_0),
    **{key: setting for key, (_, setting) in TIMERS.items()},
    **OF_TOPOLOGY,
}

_FIELDS = {
    "topology.acker.executors": "Topology.ackers",
    "topology.max.spout.pending": "Topology.max_spout_pending",
    "topology.message.timeout.secs": "Topology.message_timeout_s",
    "topology.name": "Topology.name",
    "topology.priority": "Topology.priority",
    "topology.tasks": "Component.tasks",
    "topology.tick.tuple.freq.secs": "Component.tick_seconds",
    "topology.workers": "Topology.workers",
}
_UNSUPPORTED = {
    "nimbus.supervisor.timeout.secs": "Storm does not read it but uses the supervisor's session",
    "topology.spout.wait.": "storm_lab plays only the sleeps of spouts between empty calls",
    "topology.bolt.wait.": "storm_lab plays only parks and then sleeps of bolts",
    "topology.backpressure.wait.": "storm_lab does not play wait strategies of back-pressure",
    "topology.disruptor.": "storm_lab does not play wait strategies of Storm 1's queues",
}


def check_topology_settings(owner: str, settings: Mapping[str, object]) -> None:
    """Check a topology's settings; raise `UserError` with the key and the known keys if one is refused."""
    for key, value in settings.items():
        if key in OF_CLUSTER and key not in OF_TOPOLOGY:
            message = f"{owner} cannot have a setting that belongs to the whole cluster"
            remedy = "give it in the settings of the emulation"
            raise UserError(message, field="settings", value=key, remedy=remedy)
        _check(owner, key, value, OF_TOPOLOGY)


def check_cluster_settings(settings: Mapping[str, object]) -> None:
    """Check a cluster's settings; raise `UserError` with the key and the known keys if one is refused."""
    for key, value in settings.items():
        _check("the cluster", key, value, OF_CLUSTER)


def check_settings_version(owner: str, settings: Mapping[str, SettingValue], version: StormVersion) -> None:
    """Raise `UserError` for a setting that this version of Storm does not have; it names the key."""
    for key, value in settings.items():
        setting = OF_CLUSTER[key]
        if not setting.exists_in(version):
            since = [] if setting.since is None else [f"from {setting.since} on"]
            until = [] if setting.until is None else [f"before {setting.until}"]
            message = f"{owner} has a setting that Storm {version} does not have"
            remedy = f"leave it out; it exists {' and '.join(since + until)}"
            raise UserError(message, field="settings", value=key, remedy=remedy)
        if not setting.is_valid_in(version, value):
            message = f"{owner} needs a power of two: Storm {version} accepts no other size"
            raise UserError(message, field=key, value=value, remedy=f"give {1 << int(value).bit_length()}")


def _check(owner: str, key: str, value: object, known: Mapping[str, Setting]) -> None:
    if key in known:
        known[key].check(owner, key, value)
        return
    if key in _FIELDS:
        remedy = f"give it as {_FIELDS[key]}"
        raise UserError(f"{owner} has a field for this setting", field="settings", value=key, remedy=remedy)
    reason = next((what for prefix, what in _UNSUPPORTED.items() if key.startswith(prefix)), None)
    noun = "setting with an effect here" if reason is None else f"setting: {reason}"
    raise unknown_name(noun, key, known, owner, field="settings")


def effective_settings(conf: Mapping[str, object]) -> dict[str, SettingValue]:
    """Return the settings of a topology's full configuration that have an effect here."""
    return {
        key: cast(SettingValue, conf[key])
        for key, setting in OF_TOPOLOGY.items()
        if key in conf and setting.problem_with(conf[key]) is None
    }


def number_of(settings: Mapping[str, SettingValue], key: str, default: float) -> float:
    """Return a numeric setting, which was checked when it was given."""
    return float(settings.get(key, default))


def flag_of(settings: Mapping[str, SettingValue], key: str, default: bool = False) -> bool:
    """Return a boolean setting, which was checked when it was given."""
    value = settings.get(key, default)
    return value.lower() == "true" if isinstance(value, str) else bool(value)
