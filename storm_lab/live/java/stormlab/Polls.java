package stormlab;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures what a poll takes of a core on which another thread is busy. For each number of polling threads it
 * prints that number, the busy thread's turns and all polls, and how long the busy thread and the polling ones
 * ran by their own CPU clocks, in seconds; all per second. Threads share the one core that this process may use.
 */
public final class Polls {
    private static final int TURNS = 1000;
    private static final int SETTLES_MS = 300;
    private static final int MEASURED_MS = 1000;

    private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();

    private static volatile boolean ended;
    private static volatile long sink;

    private Polls() {}

    public static void main(String[] counts) throws InterruptedException {
        for (int i = 0; i < 20_000; i++) {
            sink += spin(TURNS);
        }
        for (String count : counts) {
            measure(Integer.parseInt(count));
        }
    }

    private static void measure(int pollers) throws InterruptedException {
        ended = false;
        AtomicLong turns = new AtomicLong();
        AtomicLong polls = new AtomicLong();
        Thread[] threads = new Thread[pollers + 1];
        for (int i = 0; i <= pollers; i++) {
            threads[i] = i == 0
                    ? new Thread(() -> {
                        while (!ended) {
                            sink += spin(TURNS);
                            turns.addAndGet(TURNS);
                        }
                    })
                    : new Thread(() -> {
                        while (!ended) {
                            LockSupport.parkNanos(1);
                            polls.incrementAndGet();
                        }
                    });
            threads[i].start();
        }
        Thread.sleep(SETTLES_MS);
        long start = System.nanoTime();
        long turnsBefore = turns.get();
        long pollsBefore = polls.get();
        double busyBefore = cpuSeconds(threads, 0, 1);
        double pollingBefore = cpuSeconds(threads, 1, threads.length);
        Thread.sleep(MEASURED_MS);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                "%d %.0f %.0f %.6f %.6f%n",
                pollers,
                (turns.get() - turnsBefore) / seconds,
                (polls.get() - pollsBefore) / seconds,
                (cpuSeconds(threads, 0, 1) - busyBefore) / seconds,
                (cpuSeconds(threads, 1, threads.length) - pollingBefore) / seconds);
        ended = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static double cpuSeconds(Thread[] threads, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += CLOCKS.getThreadCpuTime(threads[i].getId());
        }
        return sum / 1e9;
    }

    private static long spin(int turns) {
        long x = turns | 1L;
        for (int i = 0; i < turns; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
