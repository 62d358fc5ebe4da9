/* The benchmark's model as a bare loop in plain C, with which the compiled kernel is compared.
 *
 * A spout, two bolts in a row and ackers, on the message path of Storm 0.8: executor threads with send threads;
 * per worker a receive thread, a transfer thread and housekeeping; processor sharing on every node; network
 * channels; the XOR ledger. Rules, draws and the order of equal times are those of the kernel, so both play the
 * same events. Features that this model does not use are left out: further groupings and versions, full queues,
 * time-outs, faults, servers, moves, counters for monitors, and the tuple log.
 *
 * Reads integers (times in ns) from standard input, in the order of read_model(); prints one line of JSON.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int64_t I;
typedef uint64_t U;

enum { SPOUT, FIRST, SECOND, ACKER, KINDS };
enum { MAIN, SEND, RECEIVE, TRANSFER, HOUSEKEEPING };
enum { IDLE, WAKING, BUSY, POLLING };
enum { DATA, INIT, ACK, COMPLETE, TICK };
enum { NONE = -1, TURN_MOST = 1024, THREAD_BITS = 20, THREADS = (1 << THREAD_BITS) - 1,
       CONTROL_BYTES = 20, QUEUE_MOST = 1024, BATCHES = 20 };

typedef struct { I next, kind, remote, target, root, line, bytes, time; U edge; } Message;
typedef struct { U id, ledger; I known, spout, emitted, next; } Root;
typedef struct {
    I kind, state, node, executor, head, tail, out_head, out_tail, current, length;
    I next_wake, wake_at, heap_pos, finish, order, work, cpu;
} Thread;
typedef struct {
    I kind, node, main, send, turn_head, emitting, poll_phase, awaits, line, walk;
    I targets, *order;
    U rng;
} Executor;
typedef struct { I v, v_at, active, free, rang, wake_head, wake_tail, out_free, in_free, receive, transfer; } Node;
typedef struct { I latency, head, tail, inward; } Wire;
typedef struct { I time, seq, source; } Event;

static I n_nodes, cores, lan, nic_ps, header;
static I c_dispatch, c_emit, c_serialise, c_serialise_kb, c_deserialise, c_deserialise_kb, c_send, c_transfer;
static I c_receive, c_acker, c_spout_ack, c_poll, c_wake, c_switch, idle_sleep, hk_period, hk_work;
static I receive_batch, rate_milli, timeout, lines, warm_until, until, bytes, n_executors, n_threads;
static I now, seq, heap_n, events, taken, free_message = NONE, free_root = NONE, n_messages, n_roots;
static I *idle, n_idle, finder;
static I acked, emitted, first_of[KINDS], count_of[KINDS], measuring, n_wires;
static I batch_count[BATCHES], batch_sum[BATCHES], latency_sum;
static Message *message;
static Root *root;
static Thread *thread;
static Executor *executor;
static Node *node;
static Wire *wire;
static Event *heap;
static I *position, **run_queue, *work_of;

static void fail(const char *what) { fprintf(stderr, "%s\n", what); exit(3); }

static void *room(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (!p) fail("out of memory");
    return p;
}

/* ---- events: one entry per busy source, moved when its time changes */

static inline int before(const Event *a, I time, I order) {
    return a->time < time || (a->time == time && a->seq < order);
}

static inline void place(I i, Event e) { heap[i] = e; position[e.source] = i; }

static void up(I i, Event e) {
    while (i > 0) {
        I parent = (i - 1) >> 1;
        if (before(&heap[parent], e.time, e.seq)) break;
        place(i, heap[parent]);
        i = parent;
    }
    place(i, e);
}

static void down(I i, Event e) {
    for (;;) {
        I child = 2 * i + 1;
        if (child >= heap_n) break;
        if (child + 1 < heap_n && before(&heap[child + 1], heap[child].time, heap[child].seq)) child++;
        if (!before(&heap[child], e.time, e.seq)) break;
        place(i, heap[child]);
        i = child;
    }
    place(i, e);
}

static void schedule(I source, I time) {
    Event e = {time, seq++, source};
    I i = position[source];
    if (i < 0) up(heap_n++, e);
    else if (time < heap[i].time) up(i, e);
    else down(i, e);
}

static void unschedule(I source) {
    I i = position[source];
    if (i < 0) return;
    position[source] = NONE;
    if (i == --heap_n) return;
    Event last = heap[heap_n];
    if (i > 0 && !before(&heap[(i - 1) >> 1], last.time, last.seq)) up(i, last);
    else down(i, last);
}

static inline I lines_event(void) { return 2 * n_nodes + n_wires; }
static inline I timer_of(I t) { return 2 * n_nodes + n_wires + 1 + 2 * t; }
static inline I period_of(I t) { return timer_of(t) + 1; }

/* ---- processor sharing: virtual time per node, in 1/65536 ns */

static inline I share_of(const Node *p) {
    return p->active * 1024 <= p->free ? 65536 : (p->free << 6) / p->active;
}

static inline void advance(Node *p) {
    if (p->active > 0) p->v += (now - p->v_at) * share_of(p);
    p->v_at = now;
}

static inline int sooner(I a, I b) {
    const Thread *x = &thread[a], *y = &thread[b];
    return x->finish < y->finish || (x->finish == y->finish && x->order < y->order);
}

static void run_up(I *queue, I i, I t) {
    while (i > 0) {
        I parent = (i - 1) >> 1;
        if (sooner(queue[parent], t)) break;
        thread[queue[i] = queue[parent]].heap_pos = i;
        i = parent;
    }
    thread[queue[i] = t].heap_pos = i;
}

static void run_down(I *queue, I n, I i, I t) {
    for (;;) {
        I child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && sooner(queue[child + 1], queue[child])) child++;
        if (sooner(t, queue[child])) break;
        thread[queue[i] = queue[child]].heap_pos = i;
        i = child;
    }
    thread[queue[i] = t].heap_pos = i;
}

static void start_burst(I t, I work) {
    Thread *self = &thread[t];
    Node *p = &node[self->node];
    advance(p);
    if (p->active >= cores) {
        I round = p->active / cores;
        work += c_switch * (round < 4 ? round : 4);
    }
    self->work = work;
    self->finish = p->v + work * 65536;
    self->order = seq++;
    self->state = BUSY;
    run_up(run_queue[self->node], p->active++, t);
}

static void leave_cpu(I t) {
    Thread *self = &thread[t];
    I *queue = run_queue[self->node], i = self->heap_pos, n = --node[self->node].active;
    self->heap_pos = NONE;
    if (i == n) return;
    I last = queue[n];
    if (i > 0 && sooner(last, queue[(i - 1) >> 1])) run_up(queue, i, last);
    else run_down(queue, n, i, last);
}

static void reschedule(I n) {
    Node *p = &node[n];
    if (p->active == 0) { unschedule(n); return; }
    advance(p);
    I missing = thread[run_queue[n][0]].finish - p->v, time = p->v_at;
    if (missing > 0) {
        I share = share_of(p);
        time += (missing + share - 1) / share;
    }
    I i = position[n];
    if (i < 0 || heap[i].time != time) schedule(n, time);
}

/* ---- messages, roots, draws */

static I new_message(I kind, I target, I r, I line, I size) {
    if (free_message < 0) {
        message = realloc(message, (size_t)(2 * n_messages) * sizeof *message);
        if (!message) fail("out of memory");
        for (I i = n_messages; i < 2 * n_messages; i++)
            message[i].next = i + 1 < 2 * n_messages ? i + 1 : NONE;
        free_message = n_messages;
        n_messages *= 2;
    }
    I m = free_message;
    free_message = message[m].next;
    message[m] = (Message){NONE, kind, 0, target, r, line, size, 0, 0};
    return m;
}

static inline void drop(I m) { message[m].next = free_message; free_message = m; }

static I new_root(void) {
    if (free_root < 0) {
        root = realloc(root, (size_t)(2 * n_roots) * sizeof *root);
        if (!root) fail("out of memory");
        for (I i = n_roots; i < 2 * n_roots; i++) root[i].next = i + 1 < 2 * n_roots ? i + 1 : NONE;
        free_root = n_roots;
        n_roots *= 2;
    }
    I r = free_root;
    free_root = root[r].next;
    return r;
}

static inline U draw(Executor *e) {
    U z = e->rng += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static I shuffled_target(Executor *e, I kind) {
    I n = e->targets;
    if (n == 1) return first_of[kind];
    if (e->walk >= n) {
        e->walk = 0;
        for (I last = n - 1; last > 0; last--) {
            I other = (I)(draw(e) >> 33) % (last + 1), kept = e->order[last];
            e->order[last] = e->order[other];
            e->order[other] = kept;
        }
    }
    return first_of[kind] + e->order[e->walk++];
}

static I acker_of(U id) {
    I value = (I)((31 + ((id ^ (id >> 32)) & 0xFFFFFFFFu)) & 0xFFFFFFFFu);
    if (value >= 0x80000000LL) value -= 0x100000000LL;
    I left = value % count_of[ACKER];
    return first_of[ACKER] + (left < 0 ? left + count_of[ACKER] : left);
}

/* ---- queues */

static inline void add_output(I t, I m) {
    Thread *self = &thread[t];
    if (self->out_head < 0) self->out_head = m;
    else message[self->out_tail].next = m;
    self->out_tail = m;
}

static I poll_time(const Executor *e, I not_before) {
    I missing = not_before - e->poll_phase;
    if (missing <= 0) return e->poll_phase;
    return e->poll_phase + (missing + idle_sleep - 1) / idle_sleep * idle_sleep;
}

static void enqueue(I t, I m) {
    Thread *self = &thread[t];
    message[m].next = NONE;
    if (self->head < 0) self->head = m;
    else message[self->tail].next = m;
    self->tail = m;
    if (++self->length > QUEUE_MOST && self->kind == SEND) fail("a queue is full: lower the load");
    if (self->state == IDLE) {
        Node *p = &node[self->node];
        self->state = WAKING;
        self->wake_at = now + c_wake;
        self->next_wake = NONE;
        if (p->wake_head < 0) {
            p->wake_head = t;
            schedule(n_nodes + self->node, self->wake_at);
        } else thread[p->wake_tail].next_wake = t;
        p->wake_tail = t;
    } else if (self->state == POLLING) {
        I at = poll_time(&executor[self->executor], now), i = position[timer_of(t)];
        if (i < 0 || heap[i].time > at) schedule(timer_of(t), at);
    }
}

static inline I take(Thread *self) {
    I m = self->head;
    self->head = message[m].next;
    if (self->head < 0) self->tail = NONE;
    self->length--;
    message[m].next = NONE;
    return m;
}

/* ---- network channels */

static void put_on_wire(I index, I m) {
    Wire *w = &wire[index];
    message[m].next = NONE;
    if (w->head < 0) {
        w->head = m;
        schedule(2 * n_nodes + index, message[m].time);
    } else {
        message[w->tail].next = m;
        if (message[m].time < message[w->tail].time) message[m].time = message[w->tail].time;
    }
    w->tail = m;
}

static void transmit(I from, I m) {
    Node *p = &node[from];
    I at = now > p->out_free ? now : p->out_free;
    at += (message[m].bytes + header) * nic_ps / 1000;
    p->out_free = at;
    message[m].time = at + wire[from].latency;
    put_on_wire(from, m);
}

static I wire_due(I index) {
    Wire *w = &wire[index];
    I m = w->head, to = executor[message[m].target].node;
    w->head = message[m].next;
    if (w->head >= 0) schedule(2 * n_nodes + index, message[w->head].time);
    else { w->tail = NONE; unschedule(2 * n_nodes + index); }
    if (!w->inward) {
        Node *p = &node[to];
        I done = p->in_free + (message[m].bytes + header) * nic_ps / 1000;
        if (done < now) done = now;
        p->in_free = done;
        if (done > now) {
            message[m].time = done;
            put_on_wire(n_nodes + to, m);
            return to;
        }
    }
    enqueue(node[to].receive, m);
    return to;
}

/* ---- threads */

static void spout_turn(I t);

static void emit(I t, Executor *e, I kind, I r, I line, U *edges) {
    I m = new_message(DATA, shuffled_target(e, kind), r, line, bytes);
    message[m].edge = draw(e);
    *edges ^= message[m].edge;
    add_output(t, m);
}

static void tell(I t, I kind, I target, I r, U edge) {
    I m = new_message(kind, target, r, 0, CONTROL_BYTES);
    message[m].edge = edge;
    add_output(t, m);
}

static void bolt_start(I t) {
    Thread *self = &thread[t];
    I m = self->current = take(self), work = c_dispatch, kind = executor[self->executor].kind;
    if (message[m].remote) work += c_deserialise + message[m].bytes * c_deserialise_kb / 1024;
    if (kind == ACKER) work += c_acker;
    else work += work_of[2 * message[m].line + kind - FIRST] + (kind == FIRST ? 2 : 1) * c_emit;
    start_burst(t, work);
}

static void batch_start(I t, I most) {
    Thread *self = &thread[t];
    I work = 0, n = self->length < most ? self->length : most;
    while (n-- > 0) {
        I m = take(self);
        if (self->kind == SEND) {
            message[m].remote = executor[message[m].target].node != self->node;
            work += c_send;
            if (message[m].remote) work += c_serialise + message[m].bytes * c_serialise_kb / 1024;
        } else work += self->kind == TRANSFER ? c_transfer : c_receive;
        add_output(t, m);
    }
    start_burst(t, work);
}

static void go_on(I t) {
    Thread *self = &thread[t];
    if (self->kind == MAIN && executor[self->executor].kind == SPOUT) spout_turn(t);
    else if (self->length == 0) self->state = IDLE;
    else if (self->kind == MAIN) bolt_start(t);
    else batch_start(t, self->kind == RECEIVE ? receive_batch : self->length);
}

static void flush(I t) {
    Thread *self = &thread[t];
    I m = self->out_head;
    while (m >= 0) {
        I after = message[m].next;
        if (self->kind == MAIN) enqueue(executor[self->executor].send, m);
        else if (self->kind == TRANSFER) transmit(self->node, m);
        else if (self->kind == SEND && message[m].remote) enqueue(node[self->node].transfer, m);
        else enqueue(executor[message[m].target].main, m);
        m = after;
    }
    self->out_head = self->out_tail = NONE;
}

static void bolt_finish(I t) {
    Thread *self = &thread[t];
    Executor *e = &executor[self->executor];
    I m = self->current, r = message[m].root;
    if (e->kind == ACKER) {
        root[r].known |= message[m].kind == INIT;
        root[r].ledger ^= message[m].edge;
        if (root[r].known && root[r].ledger == 0) tell(t, COMPLETE, root[r].spout, r, 0);
    } else {
        U edges = 0, edge = message[m].edge;
        if (e->kind == FIRST) emit(t, e, SECOND, r, message[m].line, &edges);
        tell(t, ACK, acker_of(root[r].id), r, edge ^ edges);
    }
    drop(m);
    flush(t);
    go_on(t);
}

/* ---- input lines: idle spouts, ordered by the phase of their turns in the period. Only the turn that will find
 * the next line is an event. Of equal turns, the lower thread comes first. */

static inline I next_line_time(void) { return taken * 1000000000000LL / rate_milli; }

static inline I key_of(I t) {
    return executor[thread[t].executor].poll_phase % idle_sleep << THREAD_BITS | t;
}

static I place_of(I key) {
    I low = 0, high = n_idle;
    while (low < high) {
        I middle = (low + high) >> 1;
        if (idle[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void watch(void) {
    I event = lines_event(), at = next_line_time(), key = 0, time = 0;
    if (n_idle == 0) { unschedule(event); return; }
    if (at < now) at = now;
    I phase = at % idle_sleep, place = place_of(phase << THREAD_BITS), left = n_idle;
    for (; left > 0; left--, place++) {
        if (place == n_idle) place = 0;
        key = idle[place];
        time = (key >> THREAD_BITS) - phase;
        time = at + (time < 0 ? time + idle_sleep : time);
        if (executor[thread[key & THREADS].executor].poll_phase <= time) break;
    }
    if (left == 0) {
        key = idle[place % n_idle];
        time = executor[thread[key & THREADS].executor].poll_phase;
    }
    finder = key & THREADS;
    I i = position[event];
    if (i < 0 || heap[i].time != time) schedule(event, time);
}

static void await_line(I t) {
    I key = key_of(t), place = place_of(key);
    for (I i = n_idle++; i > place; i--) idle[i] = idle[i - 1];
    idle[place] = key;
    executor[thread[t].executor].awaits = 1;
    watch();
}

static void leave_idle(I t) {
    I i = place_of(key_of(t));
    for (n_idle--; i < n_idle; i++) idle[i] = idle[i + 1];
    executor[thread[t].executor].awaits = 0;
}

static void next_tuple(I t) {
    Thread *self = &thread[t];
    Executor *e = &executor[self->executor];
    I at = next_line_time();
    if (at <= now) {
        e->line = taken++ % lines;
        watch();
        e->emitting = 1;
        start_burst(t, c_poll + 2 * c_emit);
        return;
    }
    self->state = POLLING;
    e->poll_phase = now + idle_sleep;
    if (self->length > 0) schedule(timer_of(t), e->poll_phase);
    await_line(t);
}

static void spout_turn(I t) {
    Thread *self = &thread[t];
    Executor *e = &executor[self->executor];
    if (e->awaits) {
        leave_idle(t);
        if (self->length > 0) watch();
    }
    if (self->length == 0) { next_tuple(t); return; }
    I work = 0, tail = NONE, n = self->length < TURN_MOST ? self->length : TURN_MOST;
    while (n-- > 0) {
        I m = take(self);
        work += c_dispatch + c_spout_ack + (message[m].remote ? c_deserialise : 0);
        if (tail < 0) e->turn_head = m;
        else message[tail].next = m;
        tail = m;
    }
    e->emitting = 0;
    start_burst(t, work);
}

static void spout_acks_done(I t) {
    Executor *e = &executor[thread[t].executor];
    I m = e->turn_head;
    while (m >= 0) {
        I after = message[m].next, r = message[m].root;
        if (message[m].kind == COMPLETE) {
            I latency = now - root[r].emitted;
            if (latency >= timeout) fail("a tuple timed out: lower the load");
            acked++;
            if (measuring) {
                I batch = (now - warm_until - 1) * BATCHES / (until - warm_until);
                latency_sum += latency;
                batch_sum[batch] += latency;
                batch_count[batch]++;
            }
            root[r].next = free_root;
            free_root = r;
        }
        drop(m);
        m = after;
    }
    e->turn_head = NONE;
    next_tuple(t);
}

static void spout_emitted(I t) {
    Executor *e = &executor[thread[t].executor];
    I r = new_root();
    U edges = 0;
    root[r] = (Root){draw(e), 0, 0, thread[t].executor, now, NONE};
    emitted++;
    emit(t, e, FIRST, r, e->line, &edges);
    tell(t, INIT, acker_of(root[r].id), r, edges);
    flush(t);
    spout_turn(t);
}

static void burst_done(I t) {
    Thread *self = &thread[t];
    self->cpu += self->work;
    if (self->kind == MAIN) {
        if (executor[self->executor].kind != SPOUT) bolt_finish(t);
        else if (executor[self->executor].emitting) spout_emitted(t);
        else spout_acks_done(t);
    } else { flush(t); go_on(t); }
}

static void period_rings(I t) {
    Thread *self = &thread[t];
    if (self->kind == HOUSEKEEPING) {
        /* Taken evenly until the timer fires again, which leaves less of the cores to others. */
        Node *p = &node[self->node];
        I work = hk_work * (now - p->rang) / hk_period, part = work * 1024 / (hk_period + work);
        p->rang = now;
        self->cpu += work;
        advance(p);
        p->free = cores * 1024 - (part < cores * 512 ? part : cores * 512);
        schedule(period_of(t), now + hk_period + work);
    } else {
        schedule(period_of(t), now + timeout);
        enqueue(t, new_message(TICK, NONE, NONE, 0, 0));
    }
}

static void run(I stop) {
    I wires = 2 * n_nodes + n_wires, timers = timer_of(0);
    while (heap_n > 0 && heap[0].time <= stop) {
        I source = heap[0].source, n;
        now = heap[0].time;
        events++;
        if (source < n_nodes) {
            n = source;
            I t = run_queue[n][0];
            advance(&node[n]);
            leave_cpu(t);
            burst_done(t);
        } else if (source < 2 * n_nodes) {
            n = source - n_nodes;
            Node *p = &node[n];
            I t = p->wake_head;
            p->wake_head = thread[t].next_wake;
            if (p->wake_head >= 0) schedule(source, thread[p->wake_head].wake_at);
            else unschedule(source);
            go_on(t);
        } else if (source < wires) n = wire_due(source - 2 * n_nodes);
        else if (source < timers) {
            I t = finder;
            unschedule(source);
            unschedule(timer_of(t));
            n = thread[t].node;
            spout_turn(t);
        }
        else {
            I t = (source - timers) >> 1;
            n = thread[t].node;
            if ((source - timers) & 1) period_rings(t);
            else { unschedule(source); spout_turn(t); }
        }
        reschedule(n);
    }
    if (now < stop) now = stop;
}

/* ---- the model */

static I number(void) {
    I value;
    if (scanf("%" SCNd64, &value) != 1) fail("the model is cut short");
    return value;
}

static I open_thread(I kind, I n, I e) {
    thread[n_threads] = (Thread){.kind = kind, .state = IDLE, .node = n, .executor = e, .head = NONE, .tail = NONE,
        .out_head = NONE, .out_tail = NONE, .current = NONE, .next_wake = NONE, .heap_pos = NONE};
    return n_threads++;
}

static void read_model(void) {
    I *settings[] = {&n_nodes, &cores, &lan, &nic_ps, &header, &c_dispatch, &c_emit, &c_serialise,
        &c_serialise_kb, &c_deserialise, &c_deserialise_kb, &c_send, &c_transfer, &c_receive, &c_acker, &c_spout_ack,
        &c_poll, &c_wake, &c_switch, &idle_sleep, &hk_period, &hk_work, &receive_batch, &rate_milli,
        &timeout, &lines, &warm_until, &until, &bytes, &n_executors};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) *settings[i] = number();
    n_wires = 2 * n_nodes;
    I most = 3 * n_nodes + 2 * n_executors, sources = 2 * n_nodes + n_wires + 1 + 2 * most;
    executor = room((size_t)n_executors * sizeof *executor);
    thread = room((size_t)most * sizeof *thread);
    node = room((size_t)n_nodes * sizeof *node);
    wire = room((size_t)n_wires * sizeof *wire);
    heap = room((size_t)sources * sizeof *heap);
    position = room((size_t)sources * sizeof *position);
    idle = room((size_t)n_executors * sizeof *idle);
    run_queue = room((size_t)n_nodes * sizeof *run_queue);
    for (I i = 0; i < sources; i++) position[i] = NONE;
    for (I i = 0; i < n_wires; i++) wire[i] = (Wire){lan, NONE, NONE, i >= n_nodes};
    for (I i = 0; i < n_executors; i++) {
        Executor *e = &executor[i];
        e->kind = number();
        e->node = number();
        e->rng = (U)number() << 32;
        e->rng |= (U)number();
        e->turn_head = NONE;
        if (count_of[e->kind]++ == 0) first_of[e->kind] = i;
        e->targets = number();
        e->order = room((size_t)e->targets * sizeof *e->order);
        for (I j = 0; j < e->targets; j++) e->order[j] = number();
    }
    /* Workers start in the order of their nodes, and their executors in order. */
    for (I w = 0; w < n_nodes; w++) {
        I n = number(), count = number();
        run_queue[n] = room((size_t)most * sizeof **run_queue);
        node[n].wake_head = node[n].wake_tail = NONE;
        node[n].free = cores * 1024;
        node[n].receive = open_thread(RECEIVE, n, NONE);
        node[n].transfer = open_thread(TRANSFER, n, NONE);
        schedule(period_of(open_thread(HOUSEKEEPING, n, NONE)), hk_period);
        for (I i = 0; i < count; i++) {
            I e = number();
            executor[e].main = open_thread(MAIN, n, e);
            executor[e].send = open_thread(SEND, n, e);
            if (executor[e].kind == SPOUT) schedule(period_of(executor[e].main), timeout);
        }
    }
    work_of = room((size_t)(2 * lines) * sizeof *work_of);
    for (I i = 0; i < 2 * lines; i++) work_of[i] = number();
    n_messages = n_roots = 1 << 12;
    message = room((size_t)n_messages * sizeof *message);
    root = room((size_t)n_roots * sizeof *root);
    for (I i = 0; i < n_messages; i++) {
        message[i].next = i + 1 < n_messages ? i + 1 : NONE;
        root[i].next = i + 1 < n_roots ? i + 1 : NONE;
    }
    free_message = free_root = 0;
    for (I t = 0; t < n_threads; t++)
        if (thread[t].kind == MAIN && executor[thread[t].executor].kind == SPOUT) {
            thread[t].state = POLLING;
            schedule(timer_of(t), 0);
        }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
    read_model();
    run(warm_until);
    I first_event = events, cpu = 0;
    for (I t = 0; t < n_threads; t++) thread[t].cpu = 0;
    measuring = 1;
    double start = seconds();
    run(until);
    double wall = seconds() - start;
    for (I t = 0; t < n_threads; t++) cpu += thread[t].cpu;
    printf("{\"events\": %" PRId64 ", \"seconds\": %.9f, \"emitted\": %" PRId64 ", \"acked\": %" PRId64
           ", \"latency_ns\": %" PRId64 ", \"cpu_ns\": %" PRId64 ", \"batch_ms\": [",
           events - first_event, wall, emitted, acked, latency_sum, cpu);
    for (I i = 0; i < BATCHES; i++)
        printf("%s%.6f", i ? ", " : "", batch_count[i] ? 1e-6 * (double)batch_sum[i] / (double)batch_count[i] : 0.0);
    printf("]}\n");
    return 0;
}
