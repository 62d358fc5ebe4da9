package stormlab;

import java.nio.LongBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;

/**
 * The source of a spout's lines: one queue that all its tasks share, in whichever workers they run.
 *
 * <p>The queue's state is a small mapped file of longs: the number of lines taken; the number of steps of the
 * rate; and for each step its start, the lines that had arrived by then, and the nanoseconds from line to line
 * times 1024 (0: none arrive). Only the first is written here; the process that plays the run adds steps.
 */
final class LineSource {
    /** No line is available now. */
    static final long NONE = -1;

    private static final int TAKEN = 0;
    private static final int STEPS = 64;
    private static final int FIRST_STEP = 128;
    private static final int STEP = 24;

    private enum Kind {
        RATE,
        SATURATED,
        TRACE,
        CLOSED_LOOP
    }

    /** A line to be emitted before new ones: a failed line, or the next call of a closed loop. */
    private record Returned(long line, int attempt, long dueNs) {}

    final long sleepNs;
    final long fetchNs;
    final boolean anchored;

    private final Kind kind;
    private final boolean replays;
    private final long answerNs;
    private final LongBuffer records;
    private final LongBuffer arrivals;
    private final long periodNs;
    private final long originNs;
    private final SharedLongs queue;
    private final int index;
    private final int readers;
    private final Deque<Returned> returned = new ArrayDeque<>();
    private long own;
    private long callers;
    private int step;

    /** Number of times that the last line taken was emitted before. */
    int attempt;

    LineSource(Plan plan, Map<String, Object> source, int index, int readers) {
        kind = Kind.valueOf((String) source.get("kind"));
        sleepNs = Plan.whole(source, "sleep_ns");
        fetchNs = Plan.whole(source, "fetch_ns");
        answerNs = Plan.whole(source, "answer_ns");
        anchored = Plan.flag(source, "anchored");
        replays = Plan.flag(source, "replays");
        periodNs = Plan.whole(source, "arrival_period_ns");
        originNs = plan.whole("origin_ns");
        records = Trace.longs(plan.folder.resolve((String) source.get("records")));
        String file = (String) source.get("arrivals");
        arrivals = file == null ? null : Trace.longs(plan.folder.resolve(file));
        queue = new SharedLongs(plan.folder.resolve((String) source.get("queue")));
        this.index = index;
        this.readers = readers;
        long calls = Plan.whole(source, "calls");
        callers = calls / readers + (index < calls % readers ? 1 : 0);
    }

    /** Take the next available line, or {@link #NONE}. */
    long take(long nowNs) {
        Returned first = returned.peekFirst();
        if (first != null && first.dueNs <= nowNs) {
            returned.removeFirst();
            attempt = first.attempt;
            return first.line >= 0 ? first.line : queue.next(TAKEN);
        }
        attempt = 0;
        switch (kind) {
            case SATURATED:
                // A generator that is never empty: its tasks need not share a counter of lines.
                return nowNs >= originNs ? index + readers * own++ : NONE;
            case CLOSED_LOOP:
                if (callers == 0 || nowNs < originNs) {
                    return NONE;
                }
                callers--;
                return queue.next(TAKEN);
            default:
                return takeShared(nowNs);
        }
    }

    private long takeShared(long nowNs) {
        long line = queue.get(TAKEN);
        while (dueNs(line) <= nowNs) {
            if (queue.compareAndSet(TAKEN, line, line + 1)) {
                return line;
            }
            line = queue.get(TAKEN);
        }
        return NONE;
    }

    private long dueNs(long line) {
        if (kind == Kind.TRACE) {
            long turn = line / arrivals.capacity();
            return originNs + turn * periodNs + arrivals.get((int) (line % arrivals.capacity()));
        }
        int last = (int) queue.get(STEPS) - 1;
        while (step < last && line >= queue.get(FIRST_STEP + (step + 1) * STEP + 8)) {
            step++;
        }
        int place = FIRST_STEP + step * STEP;
        long gap = queue.get(place + 16);
        if (gap == 0) {
            return Long.MAX_VALUE;
        }
        // The first line of a step comes one gap after its start.
        long ahead = line - queue.get(place + 8) + 1;
        return queue.get(place) + ahead * (gap >> 10) + (ahead * (gap & 1023) >> 10);
    }

    /** Return the first record of a line in the trace. */
    int record(long line) {
        return (int) records.get((int) (line % records.capacity()));
    }

    /** Called when a line's root tuple has been acked. */
    void acked(long nowNs) {
        if (kind == Kind.CLOSED_LOOP) {
            returned.addLast(new Returned(NONE, 0, nowNs + answerNs));
        }
    }

    /** Called when a line's root tuple has failed. */
    void failed(long line, int attempts, long nowNs) {
        if (replays) {
            returned.addLast(new Returned(line, attempts + 1, nowNs));
        } else if (kind == Kind.CLOSED_LOOP) {
            returned.addLast(new Returned(NONE, 0, nowNs + answerNs));
        }
    }
}
