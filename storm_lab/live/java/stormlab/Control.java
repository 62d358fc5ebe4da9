package stormlab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/**
 * Talks to Nimbus for Python: reads one command per line, with fields separated by tabs, and answers each with
 * one line of JSON. The commands are
 *
 * <pre>
 * cluster                          host by supervisor id, and the topologies by name
 * info     NAME                    the topology's status and where its executors run
 * kill     NAME WAIT_SECONDS
 * rebalance NAME WAIT_SECONDS WORKERS   (WORKERS 0: as many as before)
 * activate NAME
 * deactivate NAME
 * </pre>
 *
 * An answer contains "error" if Nimbus refused or could not be reached.
 */
public final class Control {
    private final Map<String, Object> conf;
    private NimbusClient connection;

    private Control(Map<String, Object> conf) {
        this.conf = conf;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        Control control = new Control((Map) Utils.readStormConfig());
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            answers.println(control.answer(line.split("\t")));
        }
    }

    private String answer(String[] command) {
        try {
            if (connection == null) {
                connection = NimbusClient.getConfiguredClient(conf);
            }
            return carryOut(connection.getClient(), command);
        } catch (Exception error) {
            // Do not reuse a connection that has failed.
            close();
            return "{\"error\": " + quoted(error.toString()) + "}";
        }
    }

    private String carryOut(Nimbus.Iface nimbus, String[] command) throws Exception {
        switch (command[0]) {
            case "cluster":
                return cluster(nimbus.getClusterInfo());
            case "info":
                return info(nimbus.getTopologyInfo(idOf(nimbus, command[1])));
            case "kill":
                KillOptions kill = new KillOptions();
                kill.set_wait_secs(Integer.parseInt(command[2]));
                nimbus.killTopologyWithOpts(command[1], kill);
                return "{}";
            case "rebalance":
                RebalanceOptions change = new RebalanceOptions();
                change.set_wait_secs(Integer.parseInt(command[2]));
                if (Integer.parseInt(command[3]) > 0) {
                    change.set_num_workers(Integer.parseInt(command[3]));
                }
                nimbus.rebalance(command[1], change);
                return "{}";
            case "activate":
                nimbus.activate(command[1]);
                return "{}";
            case "deactivate":
                nimbus.deactivate(command[1]);
                return "{}";
            default:
                throw new IllegalArgumentException("no such command: " + command[0]);
        }
    }

    private static String idOf(Nimbus.Iface nimbus, String name) throws Exception {
        for (TopologySummary topology : nimbus.getClusterInfo().get_topologies()) {
            if (topology.get_name().equals(name)) {
                return topology.get_id();
            }
        }
        throw new IllegalArgumentException("no topology is called " + name);
    }

    private static String cluster(ClusterSummary summary) {
        StringBuilder text = new StringBuilder("{\"supervisors\": {");
        String comma = "";
        for (SupervisorSummary supervisor : summary.get_supervisors()) {
            text.append(comma).append(quoted(supervisor.get_supervisor_id())).append(": ");
            text.append(quoted(supervisor.get_host()));
            comma = ", ";
        }
        text.append("}, \"topologies\": {");
        comma = "";
        for (TopologySummary topology : summary.get_topologies()) {
            text.append(comma).append(quoted(topology.get_name())).append(": {\"id\": ");
            text.append(quoted(topology.get_id())).append(", \"status\": ");
            text.append(quoted(topology.get_status())).append("}");
            comma = ", ";
        }
        return text.append("}}").toString();
    }

    private static String info(TopologyInfo topology) {
        StringBuilder text = new StringBuilder("{\"id\": ").append(quoted(topology.get_id()));
        text.append(", \"status\": ").append(quoted(topology.get_status()));
        //@ from 1.0
        // The scheduler's status message.
        text.append(", \"scheduled\": ").append(quoted(String.valueOf(topology.get_sched_status())));
        //@ end
        text.append(", \"executors\": [");
        String comma = "";
        List<ExecutorSummary> executors = topology.get_executors();
        for (ExecutorSummary executor : executors) {
            text.append(comma).append("{\"component\": ").append(quoted(executor.get_component_id()));
            text.append(", \"first\": ").append(executor.get_executor_info().get_task_start());
            text.append(", \"last\": ").append(executor.get_executor_info().get_task_end());
            text.append(", \"host\": ").append(quoted(executor.get_host()));
            text.append(", \"port\": ").append(executor.get_port());
            text.append(", \"uptime_s\": ").append(executor.get_uptime_secs()).append("}");
            comma = ", ";
        }
        return text.append("]}").toString();
    }

    private void close() {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (Exception error) {
            System.err.println("closing the connection to Nimbus: " + error);
        }
        connection = null;
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                quoted.append('\\').append(letter);
            } else if (letter < ' ') {
                quoted.append(String.format("\\u%04x", (int) letter));
            } else {
                quoted.append(letter);
            }
        }
        return quoted.append('"').toString();
    }
}
