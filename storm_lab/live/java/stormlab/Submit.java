package stormlab;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.SpoutDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Submits the topology of a plan: {@code stormlab.Submit FOLDER}, with {@code -Dstorm.jar} set to this jar.
 * Ends with status 0 when Nimbus has accepted it; otherwise the last line of stderr gives the reason.
 */
public final class Submit {
    private Submit() {}

    public static void main(String[] arguments) {
        try {
            Plan plan = Plan.of(arguments[0]);
            StormSubmitter.submitTopology(plan.text("topology"), conf(plan), build(plan).createTopology());
        } catch (Throwable error) {
            error.printStackTrace();
            System.err.println(error.getClass().getSimpleName() + ": " + message(error));
            System.exit(1);
        }
        System.exit(0);
    }

    /** Return an error's text, which Storm's Thrift exceptions have in a field of their own. */
    static String message(Throwable error) {
        try {
            return String.valueOf(error.getClass().getMethod("get_msg").invoke(error));
        } catch (ReflectiveOperationException ordinary) {
            return String.valueOf(error.getMessage());
        }
    }

    private static Config conf(Plan plan) {
        Config conf = new Config();
        conf.putAll(Plan.map(plan.fields.get("settings")));
        conf.put(Plan.FOLDER_KEY, plan.folder.toString());
        return conf;
    }

    private static TopologyBuilder build(Plan plan) {
        TopologyBuilder builder = new TopologyBuilder();
        for (Map<String, Object> component : plan.components()) {
            String id = (String) component.get("id");
            int executors = (int) Plan.whole(component, "executors");
            int tasks = (int) Plan.whole(component, "tasks");
            Streams streams = new Streams(component);
            List<Map<String, Object>> inputs = Plan.list(component.get("inputs"));
            if (inputs.isEmpty()) {
                SpoutDeclarer spout = builder.setSpout(id, new TraceSpout(id, streams), executors);
                spout.setNumTasks(tasks);
                spout.addConfigurations(settings(component));
                continue;
            }
            TraceBolt code = new TraceBolt(id, streams, settings(component));
            BoltDeclarer bolt = builder.setBolt(id, code, executors);
            bolt.setNumTasks(tasks);
            for (Map<String, Object> input : inputs) {
                subscribe(bolt, input);
            }
        }
        return builder;
    }

    private static HashMap<String, Object> settings(Map<String, Object> component) {
        return new HashMap<>(Plan.map(component.get("settings")));
    }

    private static void subscribe(BoltDeclarer bolt, Map<String, Object> input) {
        String source = (String) input.get("source");
        String stream = (String) input.get("stream");
        String grouping = (String) input.get("grouping");
        long position = Plan.whole(input, "position");
        switch (grouping) {
            case "shuffle" -> bolt.shuffleGrouping(source, stream);
            case "local-or-shuffle" -> bolt.localOrShuffleGrouping(source, stream);
            case "fields" ->
                bolt.fieldsGrouping(source, stream, new Fields(Streams.keyFields(position, false)));
            case "all" -> bolt.allGrouping(source, stream);
            case "global" -> bolt.globalGrouping(source, stream);
            case "none" -> bolt.noneGrouping(source, stream);
            case "direct" -> bolt.directGrouping(source, stream);
            case "partial-key" ->
                bolt.customGrouping(source, stream, new PartialKey((int) Plan.whole(input, "place")));
            default -> throw new IllegalArgumentException("no grouping is called " + grouping);
        }
    }
}
