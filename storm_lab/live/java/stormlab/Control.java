package stormlab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
            answers.println(Plan.print(control.answer(line.split("\t"))));
        }
    }

    private Map<String, Object> answer(String[] command) {
        try {
            if (connection == null) {
                connection = NimbusClient.getConfiguredClient(conf);
            }
            return carryOut(connection.getClient(), command);
        } catch (Exception error) {
            // Do not reuse a connection that has failed.
            close();
            return Map.of("error", error.toString());
        }
    }

    private Map<String, Object> carryOut(Nimbus.Iface nimbus, String[] command) throws Exception {
        switch (command[0]) {
            case "cluster":
                return cluster(nimbus.getClusterInfo());
            case "info":
                return info(nimbus.getTopologyInfo(idOf(nimbus, command[1])));
            case "kill":
                KillOptions kill = new KillOptions();
                kill.set_wait_secs(Integer.parseInt(command[2]));
                nimbus.killTopologyWithOpts(command[1], kill);
                return Map.of();
            case "rebalance":
                RebalanceOptions change = new RebalanceOptions();
                change.set_wait_secs(Integer.parseInt(command[2]));
                if (Integer.parseInt(command[3]) > 0) {
                    change.set_num_workers(Integer.parseInt(command[3]));
                }
                nimbus.rebalance(command[1], change);
                return Map.of();
            case "activate":
                nimbus.activate(command[1]);
                return Map.of();
            case "deactivate":
                nimbus.deactivate(command[1]);
                return Map.of();
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

    private static Map<String, Object> cluster(ClusterSummary summary) {
        Map<String, Object> supervisors = new LinkedHashMap<>();
        for (SupervisorSummary supervisor : summary.get_supervisors()) {
            supervisors.put(supervisor.get_supervisor_id(), supervisor.get_host());
        }
        Map<String, Object> topologies = new LinkedHashMap<>();
        for (TopologySummary topology : summary.get_topologies()) {
            topologies.put(
                    topology.get_name(), Map.of("id", topology.get_id(), "status", topology.get_status()));
        }
        return Map.of("supervisors", supervisors, "topologies", topologies);
    }

    private static Map<String, Object> info(TopologyInfo topology) {
        Map<String, Object> info = new LinkedHashMap<>();
        info.put("id", topology.get_id());
        info.put("status", topology.get_status());
        //@ from 1.0
        // The scheduler's status message.
        info.put("scheduled", String.valueOf(topology.get_sched_status()));
        //@ end
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary executor : topology.get_executors()) {
            executors.add(Map.of(
                    "component", executor.get_component_id(),
                    "first", executor.get_executor_info().get_task_start(),
                    "last", executor.get_executor_info().get_task_end(),
                    "host", executor.get_host(),
                    "port", executor.get_port(),
                    "uptime_s", executor.get_uptime_secs()));
        }
        info.put("executors", executors);
        return info;
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
}
