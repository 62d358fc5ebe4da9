package stormlab;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Records a worker in the run's folder. {@code worker-*.jsonl} has a line for its start, one for each task that
 * is opened, and one per window with counters and CPU. The tasks' rows are in further files.
 *
 * <p>All times are {@link System#nanoTime()}, which is CLOCK_MONOTONIC and thus common to all processes of a
 * machine.
 */
final class Recorder {
    private static Recorder own;

    private final Path folder;
    private final BufferedWriter lines;
    private final long startedNs;
    private final long originNs;
    private final long windowNs;
    private final long sampleEvery;
    private final List<TaskLog> logs = new ArrayList<>();
    private final Map<TaskLog, long[]> seen = new HashMap<>();
    private final Map<Long, Long> threadCpu = new HashMap<>();
    private long processCpu;

    private Recorder(Plan plan, int port) throws IOException {
        folder = Path.of(plan.text("records"));
        originNs = plan.whole("origin_ns");
        windowNs = plan.whole("window_ns");
        sampleEvery = Math.max(1, plan.whole("sample_every"));
        long pid = ProcessHandle.current().pid();
        lines = Files.newBufferedWriter(folder.resolve("worker-" + pid + "-" + System.nanoTime() + ".jsonl"));
        Map<String, Object> line = event("worker");
        line.put("pid", pid);
        line.put("port", port);
        line.put("command", System.getProperty("sun.java.command", ""));
        long up = ManagementFactory.getRuntimeMXBean().getUptime();
        startedNs = System.nanoTime() - up * 1_000_000L;
        line.put("started_ns", startedNs);
        write(line);
        Thread thread = new Thread(this::run, "storm-lab-recorder");
        thread.setDaemon(true);
        thread.start();
    }

    /** Return the recorder of this worker. */
    static synchronized Recorder of(Plan plan, int port) {
        if (own == null) {
            try {
                own = new Recorder(plan, port);
            } catch (IOException error) {
                throw new UncheckedIOException("the run's folder cannot be written", error);
            }
        }
        return own;
    }

    /** Open the log of a task; called by the thread that will execute it. */
    synchronized TaskLog open(String kind, int task, int tasks) {
        int incarnation = 0;
        while (true) {
            try {
                Files.createFile(folder.resolve(kind + "-" + task + "-" + incarnation + ".bin"));
                break;
            } catch (FileAlreadyExistsException older) {
                incarnation++;
            } catch (IOException error) {
                throw new UncheckedIOException("the run's folder cannot be written", error);
            }
        }
        if (incarnation > 255) {
            throw new IllegalStateException("task " + task + " has been started 256 times");
        }
        TaskLog log = new TaskLog(folder, kind, task, tasks, incarnation, sampleEvery);
        logs.add(log);
        Map<String, Object> line = event("task");
        line.put("task", task);
        line.put("incarnation", incarnation);
        line.put("thread", Thread.currentThread().getId());
        write(line);
        return log;
    }

    /** Record an event of a task or of the worker. */
    synchronized void note(String what, int task) {
        Map<String, Object> line = event(what);
        line.put("task", task);
        write(line);
    }

    private static Map<String, Object> event(String name) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", name);
        line.put("time_ns", System.nanoTime());
        return line;
    }

    private synchronized void write(Map<String, Object> line) {
        try {
            lines.write(Plan.print(line));
            lines.newLine();
            lines.flush();
        } catch (IOException error) {
            throw new UncheckedIOException("the run's folder cannot be written", error);
        }
    }

    private void run() {
        // The first window includes the cost of the worker's start.
        long start = startedNs;
        long next = originNs + Math.floorDiv(System.nanoTime() - originNs, windowNs) * windowNs + windowNs;
        while (true) {
            long now = System.nanoTime();
            if (now < next) {
                LockSupport.parkNanos(next - now);
                continue;
            }
            window(start, now);
            start = now;
            next += Math.floorDiv(now - next, windowNs) * windowNs + windowNs;
        }
    }

    private synchronized void window(long startNs, long endNs) {
        List<Object> tasks = new ArrayList<>();
        List<Object> sent = new ArrayList<>();
        for (TaskLog log : logs) {
            long[] before = seen.computeIfAbsent(log, key -> new long[6 + 2 * key.sentTuples.length]);
            long[] now = {log.emitted, log.transferred, log.executed, log.acked, log.failed, log.executeNs};
            List<Object> row = new ArrayList<>();
            row.add(log.task);
            for (int i = 0; i < now.length; i++) {
                row.add(now[i] - before[i]);
                before[i] = now[i];
            }
            tasks.add(row);
            for (int target = 0; target < log.sentTuples.length; target++) {
                int place = 6 + 2 * target;
                long tuples = log.sentTuples[target];
                long bytes = log.sentBytes[target];
                if (tuples > before[place]) {
                    sent.add(List.of(log.task, target, tuples - before[place], bytes - before[place + 1]));
                    before[place] = tuples;
                    before[place + 1] = bytes;
                }
            }
        }
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", "window");
        line.put("start_ns", startNs);
        line.put("end_ns", endNs);
        line.put("tasks", tasks);
        line.put("sent", sent);
        line.put("threads", threads());
        line.put("process_cpu_ns", processCpuNs());
        write(line);
    }

    /** Return id, name and CPU since the last window, in ns, of each Java thread. */
    private List<Object> threads() {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        long[] ids = bean.getAllThreadIds();
        ThreadInfo[] infos = bean.getThreadInfo(ids);
        List<Object> used = new ArrayList<>();
        for (int i = 0; i < ids.length; i++) {
            long cpu = bean.getThreadCpuTime(ids[i]);
            if (cpu < 0 || infos[i] == null) {
                continue;
            }
            Long before = threadCpu.put(ids[i], cpu);
            used.add(List.of(ids[i], infos[i].getThreadName(), cpu - (before == null ? 0 : before)));
        }
        return used;
    }

    private long processCpuNs() {
        com.sun.management.OperatingSystemMXBean bean =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long now = bean.getProcessCpuTime();
        long used = now - processCpu;
        processCpu = now;
        return used;
    }
}
