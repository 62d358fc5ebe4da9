package stormlab;

import java.nio.file.Path;
import java.util.List;

/** What one task notes: counters for the windows, and a row for each root tuple or sampled execution. */
final class TaskLog {
    /** Outcomes of root tuples in their rows; 0 is pending. */
    static final int ACKED = 1;
    static final int FAILED = 2;

    final int task;
    final int incarnation;
    final long sampleEvery;

    // Written by the task's thread, read by the recorder's: a window's edge may cut a little early or late.
    long emitted;
    long transferred;
    long executed;
    long acked;
    long failed;
    long executeNs;
    /** Running number of root tuples that nobody tracks. */
    long untracked;
    final long[] sentTuples;
    final long[] sentBytes;

    private final MappedRows rows;

    TaskLog(Path folder, String kind, int task, int tasks, int incarnation, long sampleEvery) {
        this.task = task;
        this.incarnation = incarnation;
        this.sampleEvery = sampleEvery;
        sentTuples = new long[tasks + 1];
        sentBytes = new long[tasks + 1];
        rows = new MappedRows(folder.resolve(kind + "-" + task + "-" + incarnation + ".bin"));
    }

    /** Count one emit call and its copies. */
    void sent(List<Integer> targets, int bytes) {
        emitted++;
        int copies = targets == null ? 0 : targets.size();
        transferred += copies;
        for (int i = 0; i < copies; i++) {
            sentTo(targets.get(i), bytes);
        }
    }

    /** Count one copy that was sent to a named task. */
    void sentTo(int target, int bytes) {
        if (target < sentTuples.length) {
            sentTuples[target]++;
            sentBytes[target] += bytes;
        }
    }

    /** Note a root tuple before its emit; returns its number at this task. */
    long root(long line, int attempt) {
        long row = rows.add();
        rows.setLong(row, 16, line);
        rows.setInt(row, 24, attempt);
        rows.setLong(row, 0, System.nanoTime());
        return row;
    }

    /** Note how a root tuple ended. */
    void close(long row, int outcome) {
        rows.setLong(row, 8, System.nanoTime());
        rows.setInt(row, 28, outcome);
    }

    /** Note an execution. */
    void execution(long root, int source, long startNs, long endNs) {
        long row = rows.add();
        rows.setLong(row, 0, startNs);
        rows.setLong(row, 16, root);
        rows.setInt(row, 24, source);
        rows.setLong(row, 8, endNs);
    }

    /**
     * A root tuple's number in the topology, as it travels with its tuples: from the highest bit on whether
     * nobody tracks it, then the spout's task, its incarnation and the running number there.
     */
    long name(long row, boolean tracked) {
        return (tracked ? 0L : Long.MIN_VALUE) | (long) task << 48 | (long) incarnation << 40 | row;
    }

    /** Whether executions of this root tuple's tree are logged. */
    boolean logs(long root) {
        return (root & 0xFF_FFFF_FFFFL) % sampleEvery == 0;
    }
}
