package stormlab;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A scheduler for Nimbus that asks at a Unix socket: in every round it sends one JSON line and receives one.
 *
 * <p>In storm.yaml: {@code storm.scheduler: stormlab.BridgeScheduler} and {@code storm.lab.scheduler.socket:
 * PATH}; {@code storm.lab.scheduler.timeout.ms} (5000) limits the wait. {@link #schedule} throws nothing, since
 * an exception there halts Nimbus. Without an answer, or with one that cannot be applied, everything stays as
 * it is, and the topologies' status gives the reason.
 */
public final class BridgeScheduler implements IScheduler {
    private static final Logger LOG = LoggerFactory.getLogger(BridgeScheduler.class);
    private static final String SOCKET_KEY = "storm.lab.scheduler.socket";
    private static final String TIMEOUT_KEY = "storm.lab.scheduler.timeout.ms";
    private static final int LONGEST_ANSWER = 64 << 20;

    private String socket = "";
    private long timeoutMs = 5000;

    //@ from 2.0
    public void prepare(Map<String, Object> conf, org.apache.storm.metric.StormMetricsRegistry metrics) {
        configure(conf);
    }

    //@ end
    //@ before 2.0
    @SuppressWarnings("rawtypes")
    public void prepare(Map conf) {
        configure(conf);
    }

    //@ end
    /** Storm from 1.2 on requests a configuration that the UI may show. */
    public Map<String, Map<String, Double>> config() {
        return new HashMap<>();
    }

    private void configure(Map<?, ?> conf) {
        Object path = conf.get(SOCKET_KEY);
        socket = path == null ? "" : path.toString();
        if (conf.get(TIMEOUT_KEY) instanceof Number number) {
            timeoutMs = number.longValue();
        }
    }

    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        String problem;
        try {
            Map<String, Object> answer = ask(describe(topologies, cluster));
            apply(answer, topologies, cluster);
            return;
        } catch (IOException error) {
            problem = "no answer from " + socket + " (" + error + ")";
        } catch (Throwable error) {
            problem = "an answer that cannot be applied (" + error + ")";
            LOG.warn("Answer not applied", error);
        }
        LOG.warn("Everything stays as it is: {}", problem);
        for (TopologyDetails topology : topologies.getTopologies()) {
            status(cluster, topology.getId(), "Kept as it is: " + problem);
        }
    }

    private static void status(Cluster cluster, String topology, String text) {
        //@ from 1.0
        try {
            cluster.setStatus(topology, text);
        } catch (Throwable error) {
            LOG.warn("No status for {}", topology, error);
        }
        //@ end
    }

    // The request.

    private static Map<String, Object> describe(Topologies topologies, Cluster cluster) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("format", 1);
        //@ from 1.0
        request.put("storm", org.apache.storm.utils.VersionInfo.getVersion());
        //@ end
        List<Object> nodes = new ArrayList<>();
        for (SupervisorDetails supervisor : cluster.getSupervisors().values()) {
            Map<String, Object> node = new LinkedHashMap<>();
            node.put("id", supervisor.getId());
            node.put("host", supervisor.getHost());
            node.put("ports", new ArrayList<>(supervisor.getAllPorts()));
            //@ from 1.0
            node.put("memory_mb", supervisor.getTotalMemory());
            //@ end
            //@ from 2.0
            node.put("cpu_points", supervisor.getTotalCpu());
            //@ end
            //@ from 1.0
            //@ before 2.0
            node.put("cpu_points", supervisor.getTotalCPU());
            //@ end
            //@ end
            nodes.add(node);
        }
        request.put("nodes", nodes);
        request.put("blacklisted", new ArrayList<>(cluster.getBlacklistedHosts()));
        List<Object> described = new ArrayList<>();
        for (TopologyDetails topology : topologies.getTopologies()) {
            described.add(describe(topology, cluster));
        }
        request.put("topologies", described);
        return request;
    }

    private static Map<String, Object> describe(TopologyDetails topology, Cluster cluster) {
        Map<String, Object> described = new LinkedHashMap<>();
        described.put("id", topology.getId());
        described.put("name", topology.getName());
        described.put("workers", topology.getNumWorkers());
        Map<String, Object> conf = new TreeMap<>();
        for (Object key : topology.getConf().keySet()) {
            Object value = topology.getConf().get(key);
            if (value instanceof Number || value instanceof String || value instanceof Boolean) {
                conf.put(key.toString(), value);
            }
        }
        described.put("conf", conf);
        List<Object> executors = new ArrayList<>();
        for (Map.Entry<ExecutorDetails, String> entry : topology.getExecutorToComponent().entrySet()) {
            ExecutorDetails executor = entry.getKey();
            executors.add(List.of(executor.getStartTask(), executor.getEndTask(), entry.getValue()));
        }
        described.put("executors", executors);
        List<Object> components = new ArrayList<>();
        for (Map.Entry<String, SpoutSpec> spout : topology.getTopology().get_spouts().entrySet()) {
            components.add(component(spout.getKey(), true, spout.getValue().get_common()));
        }
        for (Map.Entry<String, Bolt> bolt : topology.getTopology().get_bolts().entrySet()) {
            components.add(component(bolt.getKey(), false, bolt.getValue().get_common()));
        }
        described.put("components", components);
        described.put("present", present(cluster.getAssignmentById(topology.getId())));
        return described;
    }

    private static Map<String, Object> component(String id, boolean spout, ComponentCommon common) {
        Map<String, Object> component = new LinkedHashMap<>();
        component.put("id", id);
        component.put("spout", spout);
        component.put("executors", common.get_parallelism_hint());
        Object conf = common.get_json_conf() == null ? null : Plan.parse(common.get_json_conf());
        component.put("conf", conf == null ? Map.of() : conf);
        Map<String, Object> outputs = new TreeMap<>();
        for (Map.Entry<String, StreamInfo> stream : common.get_streams().entrySet()) {
            outputs.put(stream.getKey(), new ArrayList<>(stream.getValue().get_output_fields()));
        }
        component.put("outputs", outputs);
        List<Object> inputs = new ArrayList<>();
        for (Map.Entry<GlobalStreamId, Grouping> input : common.get_inputs().entrySet()) {
            Map<String, Object> described = new LinkedHashMap<>();
            described.put("source", input.getKey().get_componentId());
            described.put("stream", input.getKey().get_streamId());
            Grouping grouping = input.getValue();
            String name = grouping.getSetField().getFieldName();
            described.put("grouping", name);
            described.put("fields", name.equals("fields") ? new ArrayList<>(grouping.get_fields()) : List.of());
            inputs.add(described);
        }
        component.put("inputs", inputs);
        return component;
    }

    /** An assignment as [[node, port, [[first task, last task], …]], …]. */
    private static List<Object> present(SchedulerAssignment assignment) {
        List<Object> slots = new ArrayList<>();
        if (assignment == null) {
            return slots;
        }
        for (Map.Entry<WorkerSlot, Set<ExecutorDetails>> entry : bySlot(assignment).entrySet()) {
            List<Object> executors = new ArrayList<>();
            for (ExecutorDetails executor : entry.getValue()) {
                executors.add(List.of(executor.getStartTask(), executor.getEndTask()));
            }
            slots.add(List.of(entry.getKey().getNodeId(), entry.getKey().getPort(), executors));
        }
        return slots;
    }

    private static Map<WorkerSlot, Set<ExecutorDetails>> bySlot(SchedulerAssignment assignment) {
        Map<WorkerSlot, Set<ExecutorDetails>> slots = new LinkedHashMap<>();
        if (assignment != null) {
            assignment.getExecutorToSlot().forEach((executor, slot) ->
                    slots.computeIfAbsent(slot, key -> new LinkedHashSet<>()).add(executor));
        }
        return slots;
    }

    // The exchange.

    private Map<String, Object> ask(Map<String, Object> request) throws IOException {
        if (socket.isEmpty()) {
            throw new IOException(SOCKET_KEY + " is not set");
        }
        long endNs = System.nanoTime() + timeoutMs * 1_000_000L;
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
                Selector selector = Selector.open()) {
            channel.connect(UnixDomainSocketAddress.of(socket));
            channel.configureBlocking(false);
            SelectionKey key = channel.register(selector, SelectionKey.OP_WRITE);
            ByteBuffer line = ByteBuffer.wrap((Plan.print(request) + "\n").getBytes(StandardCharsets.UTF_8));
            while (line.hasRemaining()) {
                await(selector, endNs);
                channel.write(line);
            }
            key.interestOps(SelectionKey.OP_READ);
            ByteBuffer answer = ByteBuffer.allocate(1 << 16);
            while (true) {
                await(selector, endNs);
                int count = channel.read(answer);
                if (count < 0) {
                    throw new IOException("the connection ended before the answer did");
                }
                if (count > 0 && answer.get(answer.position() - 1) == '\n') {
                    break;
                }
                if (!answer.hasRemaining()) {
                    if (answer.capacity() >= LONGEST_ANSWER) {
                        throw new IOException("the answer is too long");
                    }
                    answer = ByteBuffer.allocate(answer.capacity() * 2).put(answer.flip());
                }
            }
            String text = new String(answer.array(), 0, answer.position(), StandardCharsets.UTF_8);
            if (!(Plan.parse(text) instanceof Map)) {
                throw new IOException("the answer is no JSON object");
            }
            return Plan.map(Plan.parse(text));
        }
    }

    private void await(Selector selector, long endNs) throws IOException {
        long leftMs = (endNs - System.nanoTime()) / 1_000_000L;
        if (leftMs <= 0) {
            throw new IOException("nothing within " + timeoutMs + " ms");
        }
        selector.selectedKeys().clear();
        selector.select(leftMs);
    }

    // The answer.

    private static void apply(Map<String, Object> answer, Topologies topologies, Cluster cluster) {
        Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> wanted = new LinkedHashMap<>();
        Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> before = new LinkedHashMap<>();
        Map<String, Object> assign = Plan.map(answer.getOrDefault("assign", Map.of()));
        for (TopologyDetails topology : topologies.getTopologies()) {
            String id = topology.getId();
            if (!assign.containsKey(id)) {
                continue;
            }
            Map<WorkerSlot, Set<ExecutorDetails>> present = bySlot(cluster.getAssignmentById(id));
            Map<WorkerSlot, Set<ExecutorDetails>> slots =
                    slots(topology, cluster, present.keySet(), assign.get(id));
            if (!slots.equals(present)) {
                wanted.put(id, slots);
                before.put(id, present);
            }
        }
        try {
            for (String id : wanted.keySet()) {
                cluster.freeSlots(before.get(id).keySet());
            }
            place(cluster, wanted);
        } catch (Throwable error) {
            undo(cluster, before);
            throw error;
        }
        Map<String, Object> texts = Plan.map(answer.getOrDefault("status", Map.of()));
        texts.forEach((id, text) -> status(cluster, id, String.valueOf(text)));
    }

    private static void place(
            Cluster cluster, Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> assignments) {
        assignments.forEach((id, slots) ->
                slots.forEach((slot, executors) -> cluster.assign(slot, id, executors)));
    }

    private static void undo(Cluster cluster, Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> before) {
        try {
            for (String id : before.keySet()) {
                cluster.freeSlots(bySlot(cluster.getAssignmentById(id)).keySet());
            }
            place(cluster, before);
        } catch (Throwable error) {
            LOG.error("The former assignment could not be restored", error);
        }
    }

    /** Read and check the slots of one topology. */
    private static Map<WorkerSlot, Set<ExecutorDetails>> slots(
            TopologyDetails topology, Cluster cluster, Set<WorkerSlot> present, Object rows) {
        Map<List<Integer>, ExecutorDetails> known = new HashMap<>();
        for (ExecutorDetails executor : topology.getExecutorToComponent().keySet()) {
            known.put(List.of(executor.getStartTask(), executor.getEndTask()), executor);
        }
        Map<WorkerSlot, Set<ExecutorDetails>> slots = new LinkedHashMap<>();
        Set<ExecutorDetails> placed = new LinkedHashSet<>();
        for (List<Object> row : Plan.<List<Object>>list(rows)) {
            String node = (String) row.get(0);
            int port = ((Number) row.get(1)).intValue();
            SupervisorDetails supervisor = cluster.getSupervisorById(node);
            Collection<Integer> ports = supervisor == null ? List.of() : supervisor.getAllPorts();
            // Running executors may stay in a slot in which nothing new could be started.
            if (!ports.contains(port) && !present.contains(new WorkerSlot(node, port))) {
                throw new IllegalArgumentException("there is no slot " + node + ":" + port);
            }
            Set<ExecutorDetails> executors = new LinkedHashSet<>();
            for (List<Number> pair : Plan.<List<Number>>list(row.get(2))) {
                ExecutorDetails executor =
                        known.get(List.of(pair.get(0).intValue(), pair.get(1).intValue()));
                if (executor == null || !placed.add(executor)) {
                    throw new IllegalArgumentException(
                            "executor " + pair + " of " + topology.getId() + " is unknown or placed twice");
                }
                executors.add(executor);
            }
            if (slots.put(new WorkerSlot(node, port), executors) != null) {
                throw new IllegalArgumentException("slot " + node + ":" + port + " is named twice");
            }
        }
        return slots;
    }
}
