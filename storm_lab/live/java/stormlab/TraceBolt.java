package stormlab;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Tuple;

/** A bolt that plays a workload trace: uses CPU, waits for servers, emits what was recorded, acks or fails. */
public final class TraceBolt implements IRichBolt {
    private static final long serialVersionUID = 1;

    private final String id;
    private final Streams streams;
    private final Map<String, Object> settings;

    private transient Trace trace;
    private transient TaskLog log;
    private transient Recorder recorder;
    private transient Output output;
    private transient Servers servers;
    private transient OutputCollector collector;
    private transient Map<String, Map<String, Integer>> positions;
    private transient int onlyPosition;
    private transient boolean ticks;
    private transient int tickRecord;
    private transient Tuple current;

    TraceBolt(String id, Streams streams, Map<String, Object> settings) {
        this.id = id;
        this.streams = streams;
        this.settings = settings;
    }

    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
        Plan plan = Plan.of(conf);
        Map<String, Object> component = plan.component(id);
        Burner.prepare();
        this.collector = collector;
        trace = Trace.of(plan.folder);
        servers = new Servers(plan);
        recorder = Recorder.of(plan, context.getThisWorkerPort());
        log = recorder.open("executions", context.getThisTaskId(), (int) plan.whole("tasks"));
        positions = new HashMap<>();
        List<Map<String, Object>> inputs = Plan.list(component.get("inputs"));
        for (Map<String, Object> input : inputs) {
            int position = (int) Plan.whole(input, "position");
            positions.computeIfAbsent((String) input.get("source"), key -> new HashMap<>())
                    .put((String) input.get("stream"), position);
            onlyPosition = position;
        }
        if (inputs.size() > 1) {
            onlyPosition = -1;
        }
        ticks = component.get("tick_record") != null;
        tickRecord = (int) Plan.whole(component, "tick_record");
        output = new Output(plan, component, context, log, new Output.Sender() {
            @Override
            public List<Integer> emit(String stream, List<Object> values) {
                return collector.emit(stream, current, values);
            }

            @Override
            public void emitDirect(int target, String stream, List<Object> values) {
                collector.emitDirect(target, stream, current, values);
            }
        });
    }

    @Override
    public void execute(Tuple input) {
        current = input;
        if (ticks && "__system".equals(input.getSourceComponent())) {
            // What a tick causes belongs to no root tuple.
            call(tickRecord, log.name(1, false));
            collector.ack(input);
            return;
        }
        int position = onlyPosition >= 0
                ? onlyPosition
                : positions.get(input.getSourceComponent()).get(input.getSourceStreamId());
        int record = input.getInteger(0) + position;
        long root = input.getLong(1);
        boolean logged = log.logs(root);
        long start = logged ? System.nanoTime() : 0;
        //@ from 1.0
        if (trace.resets(record)) {
            collector.resetTimeout(input);
        }
        //@ end
        if (call(record, root)) {
            collector.ack(input);
            log.acked++;
        } else {
            collector.fail(input);
            log.failed++;
        }
        log.executed++;
        if (logged) {
            long end = System.nanoTime();
            log.execution(root, input.getSourceTask(), start, end);
            log.executeNs += end - start;
        }
    }

    /** Play one call of user code; returns whether it succeeds. */
    private boolean call(int record, long root) {
        Burner.burn(trace.cpuNs(record));
        int server = trace.server(record);
        if (server >= 0) {
            Burner.pause(servers.ask(server, trace.serverNs(record)) - System.nanoTime());
        }
        if (trace.emissions(record) < 0) {
            return false;
        }
        output.emitAll(record, root);
        return true;
    }

    @Override
    public void cleanup() {
        recorder.note("close", log.task);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        streams.declare(declarer);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return settings;
    }
}
