"""The network between workers: cards, uplinks, latencies, and links that are cut.

Messages from one node to another over one channel arrive in order, as over TCP.
"""

from __future__ import annotations

from storm_lab.emulator.attempts import Attempts
from storm_lab.emulator.kernel import events, queues
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State


@inline
def channel_between(k: State, start: int, to: int) -> int:
    """Return the channel that messages from one node to another take."""
    p = rows.node(k, start)
    if p.links > 0:
        s = rows.s(k, 0)
        i = s.first_link_channel
        while i < s.first_card_channel and rows.channel(k, i).start >= 0:
            if rows.channel(k, i).start == start and rows.channel(k, i).finish == to:
                return i
            i += 1
    if start == to:
        return p.first_channel
    return p.first_channel + 1 + rows.node(k, to).rack


@jit
def transmit(k: State, start: int, m: int) -> None:
    """Send a message from node ``start`` to its target's node.

    A network card sends one message after another; racks' uplinks are shared by their nodes (`cross_racks`);
    in between there is a constant latency. So arrivals from one node over one channel are in order, as over
    TCP.
    """
    message = rows.message(k, m)
    s = rows.s(k, 0)
    receiver = rows.worker(k, rows.executor(k, message.target).worker)
    to = receiver.node
    channel_index = channel_between(k, start, to)
    channel = rows.channel(k, channel_index)
    if channel.cut != 0:
        _hold(k, channel_index, m)
        return
    if s.version_2 != 0:
        receiver.unread += message.bytes + rows.cost(k, 0).header_bytes
    at = s.now
    if start != to:
        p = rows.node(k, start)
        size = message.bytes + rows.cost(k, 0).header_bytes
        at = max(at, p.nic_out_free) + size * p.nic_ps_per_byte // 1000
        p.nic_out_free = at
        if message.locality == kinds.IN_CLUSTER and rows.cost(k, 0).uplink_ps_per_byte > 0:
            message.time = at
            put_on_channel(k, s.first_uplink_channel + start, m)
            return
    message.time = max(at, channel.up_at) + channel.latency
    put_on_channel(k, channel_index, m)


@jit
def cross_racks(k: State, stage: int, m: int) -> None:
    """Let a message take the next stage of its way to another rack: up from its own, then down to the other.

    ``stage`` is the node that it comes from, plus the number of nodes once it has been up. Each stage begins
    when the one before is over, so an uplink does not wait for what is still queued at some node's card.
    """
    s = rows.s(k, 0)
    message = rows.message(k, m)
    start = stage % s.nodes
    to = rows.worker(k, rows.executor(k, message.target).worker).node
    channel_index = channel_between(k, start, to)
    channel = rows.channel(k, channel_index)
    if channel.cut != 0:
        _hold(k, channel_index, m)
        return
    size = message.bytes + rows.cost(k, 0).header_bytes
    tx = size * rows.cost(k, 0).uplink_ps_per_byte // 1000
    if stage < s.nodes:
        up = rows.rack(k, rows.node(k, start).rack)
        message.time = up.out_free = max(s.now, up.out_free) + tx
        put_on_channel(k, s.first_uplink_channel + s.nodes + start, m)
        return
    down = rows.rack(k, rows.node(k, to).rack)
    down.in_free = max(s.now, down.in_free) + tx
    message.time = max(down.in_free, channel.up_at) + channel.latency
    put_on_channel(k, channel_index, m)


@jit
def _given_up(k: State, channel_index: int) -> bool:
    """Return whether the senders over a cut link have stopped trying to connect again."""
    return rows.s(k, 0).now > rows.channel(k, channel_index).gives_up_at


@jit
def _hold(k: State, channel_index: int, m: int) -> None:
    """Keep a message until its link is up again; if connecting has been given up, it is lost."""
    channel = rows.channel(k, channel_index)
    if _given_up(k, channel_index):
        rows.s(k, 0).lost += queues.release_all(k, _take_held(k, channel_index))
        queues.lose(k, m)
        return
    channel.held_head = queues.append(k, channel.held_head, channel.held_tail, m)
    channel.held_tail = m
    channel.held_bytes += rows.message(k, m).bytes + rows.cost(k, 0).header_bytes


@jit
def _take_held(k: State, channel_index: int) -> int:
    """Empty the list of messages that wait for a cut link; returns its head."""
    channel = rows.channel(k, channel_index)
    m = channel.held_head
    channel.held_head = channel.held_tail = -1
    channel.held_bytes = 0
    return m


@entry
def end_cut(k: State, start: int, channel_index: int, up_at: int) -> None:
    """End the cut of a link from node ``start``: what waited goes out when its senders are connected again.

    That is at ``up_at``; -1: they have given up, and what waited is lost.
    """
    channel = rows.channel(k, channel_index)
    channel.cut = 0
    channel.up_at = max(up_at, rows.s(k, 0).now)
    m = _take_held(k, channel_index)
    if up_at < 0:
        rows.s(k, 0).lost += queues.release_all(k, m)
        return
    while m >= 0:
        after = rows.message(k, m).next
        transmit(k, start, m)
        m = after


@jit
def put_on_channel(k: State, channel_index: int, m: int) -> None:
    """Append a message, whose arrival time is set, to a channel."""
    channel = rows.channel(k, channel_index)
    message = rows.message(k, m)
    if channel.head < 0:
        events.schedule(k, 2 * rows.s(k, 0).nodes + channel_index, message.time)
    else:
        # A connection delivers in order, even if its latency has just become shorter.
        message.time = max(message.time, rows.message(k, channel.tail).time)
    channel.head = queues.append(k, channel.head, channel.tail, m)
    channel.tail = m


def set_link(k: Kernel, a: int, b: int, *, cut: bool, extra_delay_ns: int, attempts: Attempts | None) -> None:
    """Give the link from node ``a`` to ``b`` a channel of its own; `RuntimeError` if none is spare.

    ``attempts`` are those of the senders to connect again, if the link is or was cut.
    """
    first, end = int(k.s[0].first_link_channel), int(k.s[0].first_card_channel)
    links = list(zip(k.channel["start"][first:end], k.channel["finish"][first:end], strict=True))
    own = (a, b) if (a, b) in links else (-1, -1)
    if own not in links:
        raise RuntimeError("all spare channels are in use: fewer links can be cut or delayed at once")
    index = first + links.index(own)
    channel = k.channel[index]
    if channel.start < 0:
        # The undisturbed latency is needed when the fault ends.
        channel.undisturbed = k.channel[k.node[a].first_channel + 1 + k.node[b].rack].latency
        channel.start, channel.finish = a, b
        k.node[a].links += 1
    channel.latency = channel.undisturbed + extra_delay_ns
    if attempts is None:
        return
    if cut and not channel.cut:
        give_up_ns = attempts.give_up_ns()
        channel.cut, channel.gives_up_at = 1, kinds.NEVER if give_up_ns is None else give_up_ns
    elif channel.cut and not cut:
        up_at = attempts.due_ns(int(k.s[0].now))
        end_cut(k.state, a, index, -1 if up_at is None else up_at)
