package stormlab;

import java.util.List;

import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * Partial key grouping on the two candidate tasks recorded in the trace: chooses the one that this emitter has
 * used less. Storm's own partial key grouping hashes the values, which a trace no longer has.
 */
public final class PartialKey implements CustomStreamGrouping {
    private static final long serialVersionUID = 1;

    private final int place;
    private transient List<Integer> tasks;
    private transient long[] used;

    /** The candidates are the values at {@code place} (reduced by 31, like all keys) and after it. */
    PartialKey(int place) {
        this.place = place;
    }

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
        tasks = targetTasks;
        used = new long[targetTasks.size()];
    }

    @Override
    public List<Integer> chooseTasks(int taskId, List<Object> values) {
        int first = Math.floorMod((Integer) values.get(place) + 31, used.length);
        int second = Math.floorMod((Integer) values.get(place + 1), used.length);
        int chosen = used[first] <= used[second] ? first : second;
        used[chosen]++;
        return List.of(tasks.get(chosen));
    }
}
