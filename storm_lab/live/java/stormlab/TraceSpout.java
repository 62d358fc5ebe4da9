package stormlab;

import java.util.List;
import java.util.Map;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.OutputFieldsDeclarer;

/** A spout that plays the lines of a workload trace: it waits, uses CPU, and emits what was recorded. */
public final class TraceSpout implements IRichSpout {
    private static final long serialVersionUID = 1;

    private final String id;
    private final Streams streams;

    private transient Trace trace;
    private transient LineSource source;
    private transient TaskLog log;
    private transient Recorder recorder;
    private transient Output output;
    private transient Message current;

    /** Message id of a line's root tuple; each emit call of the line makes a root tuple in Storm. */
    private static final class Message {
        final long row;
        final long line;
        final int attempt;
        /** Emit calls that are not acked yet, plus the line itself while it is being emitted. */
        int open = 1;
        boolean failed;

        Message(long row, long line, int attempt) {
            this.row = row;
            this.line = line;
            this.attempt = attempt;
        }
    }

    TraceSpout(String id, Streams streams) {
        this.id = id;
        this.streams = streams;
    }

    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) {
        Plan plan = Plan.of(conf);
        Map<String, Object> component = plan.component(id);
        Burner.prepare();
        trace = Trace.of(plan.folder);
        recorder = Recorder.of(plan, context.getThisWorkerPort());
        int task = context.getThisTaskId();
        log = recorder.open("roots", task, (int) plan.whole("tasks"));
        List<Integer> all = context.getComponentTasks(id);
        int index = all.stream().sorted().toList().indexOf(task);
        source = new LineSource(plan, Plan.map(component.get("source")), index, all.size());
        output = new Output(plan, component, context, log, new Output.Sender() {
            @Override
            public List<Integer> emit(String stream, List<Object> values) {
                if (current == null) {
                    return collector.emit(stream, values);
                }
                current.open++;
                return collector.emit(stream, values, current);
            }

            @Override
            public void emitDirect(int target, String stream, List<Object> values) {
                if (current == null) {
                    collector.emitDirect(target, stream, values);
                } else {
                    current.open++;
                    collector.emitDirect(target, stream, values, current);
                }
            }
        });
    }

    @Override
    public void nextTuple() {
        long line = source.take(System.nanoTime());
        if (line == LineSource.NONE) {
            Burner.pause(source.fetchNs);
            return;
        }
        int attempt = source.attempt;
        Burner.pause(source.sleepNs);
        Burner.pause(source.fetchNs);
        int record = source.record(line);
        Burner.burn(trace.cpuNs(record));
        if (source.anchored) {
            long row = log.root(line, attempt);
            current = new Message(row, line, attempt);
            output.emitAll(record, log.name(row, true));
            ack(current);
        } else {
            current = null;
            output.emitAll(record, log.name(log.untracked++, false));
        }
    }

    @Override
    public void ack(Object message) {
        Message root = (Message) message;
        if (--root.open > 0 || root.failed) {
            return;
        }
        log.close(root.row, TaskLog.ACKED);
        log.acked++;
        source.acked(System.nanoTime());
    }

    @Override
    public void fail(Object message) {
        Message root = (Message) message;
        if (root.failed) {
            return;
        }
        root.failed = true;
        log.close(root.row, TaskLog.FAILED);
        log.failed++;
        source.failed(root.line, root.attempt, System.nanoTime());
    }

    @Override
    public void activate() {
        recorder.note("activate", log.task);
    }

    @Override
    public void deactivate() {
        recorder.note("deactivate", log.task);
    }

    @Override
    public void close() {
        recorder.note("close", log.task);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        streams.declare(declarer);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return null;
    }
}
