package stormlab;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;

/** A component's declared streams: the fields of their tuples, and which streams are direct. */
final class Streams implements Serializable {
    private static final long serialVersionUID = 1;

    private final Map<String, ArrayList<String>> fields = new LinkedHashMap<>();
    private final ArrayList<String> direct = new ArrayList<>();

    Streams(Map<String, Object> component) {
        for (Map<String, Object> output : Plan.<Map<String, Object>>list(component.get("outputs"))) {
            String stream = (String) output.get("stream");
            ArrayList<String> names = new ArrayList<>(List.of("record", "root", "payload"));
            for (Map<String, Object> key : Plan.<Map<String, Object>>list(output.get("keys"))) {
                names.addAll(keyFields(Plan.whole(key, "position"), Plan.flag(key, "two")));
            }
            fields.put(stream, names);
            if (Plan.flag(output, "direct")) {
                direct.add(stream);
            }
        }
    }

    /** Return the names of the fields by which the subscription at a position is grouped. */
    static List<String> keyFields(long position, boolean two) {
        return two ? List.of("key" + position + "a", "key" + position + "b") : List.of("key" + position);
    }

    void declare(OutputFieldsDeclarer declarer) {
        fields.forEach((stream, names) ->
                declarer.declareStream(stream, direct.contains(stream), new Fields(names)));
    }
}
