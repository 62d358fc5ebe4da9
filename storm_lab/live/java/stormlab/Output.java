package stormlab;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.storm.task.TopologyContext;

/** Emits tuples with their values on a component's streams. */
final class Output {
    /** Sends one tuple; returns the tasks that receive it. */
    interface Sender {
        List<Integer> emit(String stream, List<Object> values);

        void emitDirect(int task, String stream, List<Object> values);
    }

    private static final int CACHED = 4096;
    private static final String[] TEXTS = new String[CACHED];

    private static final class Stream {
        String name;
        boolean direct;
        /** Positions of the subscriptions that are grouped by keys: one key, or two candidates. */
        int[] keyed;
        boolean[] twoKeys;
        /** For a direct stream, the tasks of each subscription's bolt. */
        List<List<Integer>> targets;
    }

    private final Trace trace;
    private final TaskLog log;
    private final Map<Integer, Stream> streams = new HashMap<>();
    private final Stream single;
    private final Sender sender;

    Output(Plan plan, Map<String, Object> component, TopologyContext context, TaskLog log, Sender sender) {
        trace = Trace.of(plan.folder);
        this.log = log;
        this.sender = sender;
        List<Map<String, Object>> outputs = Plan.list(component.get("outputs"));
        Stream only = null;
        for (Map<String, Object> output : outputs) {
            Stream stream = new Stream();
            stream.name = (String) output.get("stream");
            stream.direct = Plan.flag(output, "direct");
            List<Map<String, Object>> keys = Plan.list(output.get("keys"));
            stream.keyed = new int[keys.size()];
            stream.twoKeys = new boolean[keys.size()];
            for (int i = 0; i < keys.size(); i++) {
                stream.keyed[i] = (int) Plan.whole(keys.get(i), "position");
                stream.twoKeys[i] = Plan.flag(keys.get(i), "two");
            }
            stream.targets = new ArrayList<>();
            for (String target : Plan.<String>list(output.get("consumers"))) {
                stream.targets.add(context.getComponentTasks(target));
            }
            streams.put((int) Plan.whole(output, "index"), stream);
            only = stream;
        }
        single = streams.size() == 1 ? only : null;
    }

    /** Emit all recorded emissions of a call. */
    void emitAll(int record, long root) {
        int count = trace.emissions(record);
        int first = trace.firstEmission(record);
        for (int i = 0; i < count; i++) {
            emit(first + i, root);
        }
    }

    private void emit(int emission, long root) {
        Stream stream = single != null ? single : streams.get(trace.stream(emission));
        int record = trace.firstRecord(emission);
        int bytes = trace.bytes(emission);
        List<Object> values = new ArrayList<>(3 + 2 * stream.keyed.length);
        values.add(record);
        values.add(root);
        values.add(text(trace.characters(emission)));
        for (int i = 0; i < stream.keyed.length; i++) {
            int follower = record + stream.keyed[i];
            // Storm hashes the list of this one value; the hash is 31 more than the value.
            values.add(trace.key(follower) - 31);
            if (stream.twoKeys[i]) {
                values.add(trace.key2(follower));
            }
        }
        if (!stream.direct) {
            log.sent(sender.emit(stream.name, values), bytes);
            return;
        }
        log.emitted++;
        for (int position = 0; position < stream.targets.size(); position++) {
            List<Integer> tasks = stream.targets.get(position);
            int target = tasks.get(Math.floorMod(trace.key(record + position), tasks.size()));
            sender.emitDirect(target, stream.name, values);
            log.transferred++;
            log.sentTo(target, bytes);
        }
    }

    private static String text(int characters) {
        if (characters >= CACHED) {
            return "x".repeat(characters);
        }
        String text = TEXTS[characters];
        if (text == null) {
            text = TEXTS[characters] = "x".repeat(characters);
        }
        return text;
    }
}
