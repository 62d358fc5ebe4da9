package stormlab;

import java.nio.file.Path;
import java.util.List;

/** The log of one task: counters for the windows, and a row for each root tuple or sampled execution. */
final class TaskLog {
    /** Outcomes of root tuples in their rows; 0 is pending. */
    static final int ACKED = 1;
    static final int FAILED = 2;

    final int task;
    final int incarnation;
    final long sampleEvery;

    // Written by the task's thread and read by the recorder's, so the edges of windows are not exact.
    long emitted;
    long transferred;
    long executed;
    long acked;
    long failed;
    long executeNs;
    /** Running number of untracked root tuples. */
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

    /** Record a root tuple before it is emitted; returns its number at this task. */
    long root(long line, int attempt) {
        long row = rows.add();
        rows.setLong(row, 16, line);
        rows.setInt(row, 24, attempt);
        rows.setLong(row, 0, System.nanoTime());
        return row;
    }

    /** Record how a root tuple ended. */
    void close(long row, int outcome) {
        rows.setLong(row, 8, System.nanoTime());
        rows.setInt(row, 28, outcome);
    }

    /** Record an execution. */
    void execution(long root, int source, long startNs, long endNs) {
        long row = rows.add();
        rows.setLong(row, 0, startNs);
        rows.setLong(row, 16, root);
        rows.setInt(row, 24, source);
        rows.setLong(row, 8, endNs);
    }

    /**
     * Return a root tuple's number in the topology, which all tuples of its tree carry. From the highest bit
     * on: whether it is untracked, the spout's task, the task's incarnation, and the running number there.
     */
    long name(long row, boolean tracked) {
        return (tracked ? 0L : Long.MIN_VALUE) | (long) task << 48 | (long) incarnation << 40 | row;
    }

    /** Return whether executions of this root tuple's tree are logged. */
    boolean logs(long root) {
        return (root & 0xFF_FFFF_FFFFL) % sampleEvery == 0;
    }
}
