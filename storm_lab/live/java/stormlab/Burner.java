package stormlab;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;

/**
 * Uses CPU in a loop whose speed is measured once in each JVM. In calls that are long enough, the thread's own
 * CPU clock is checked as well. Time for which the thread does not have a core does not count.
 */
final class Burner {
    /** The clock is checked in calls from this length on; reading it takes about half a microsecond. */
    private static final long WATCHED_NS = 20_000;
    private static final long STEP_NS = 10_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private static double turnsPerNs;
    private static long sink;

    private Burner() {}

    /** Measure the loop's speed; must be called before the first {@link #burn}. */
    static synchronized void prepare() {
        if (turnsPerNs > 0) {
            return;
        }
        int turns = 200_000;
        double before = 0;
        int steady = 0;
        // Until the loop is compiled, or a quarter of a second of CPU has been used.
        long end = THREADS.getCurrentThreadCpuTime() + 250_000_000L;
        double best = 0;
        while (steady < 5) {
            long start = THREADS.getCurrentThreadCpuTime();
            spin(turns);
            long now = THREADS.getCurrentThreadCpuTime();
            double speed = turns / (double) Math.max(1, now - start);
            steady = Math.abs(speed - before) < 0.03 * speed ? steady + 1 : 0;
            best = steady == 0 ? speed : Math.max(best, speed);
            before = speed;
            if (now > end) {
                break;
            }
        }
        turnsPerNs = best;
    }

    /** Use {@code ns} nanoseconds of this thread's CPU. */
    static void burn(long ns) {
        if (ns <= 0) {
            return;
        }
        if (ns < WATCHED_NS) {
            spin((int) (ns * turnsPerNs));
            return;
        }
        long end = THREADS.getCurrentThreadCpuTime() + ns;
        long left = ns;
        while (left > 500) {
            spin((int) (Math.min(left, STEP_NS) * turnsPerNs));
            left = end - THREADS.getCurrentThreadCpuTime();
        }
    }

    /** Let {@code ns} nanoseconds pass without using CPU, or fewer if the thread is interrupted. */
    static void pause(long ns) {
        if (ns <= 0) {
            return;
        }
        long end = System.nanoTime() + ns;
        for (long left = ns; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
        }
    }

    private static void spin(int turns) {
        long x = turns | 1L;
        for (int i = 0; i < turns; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        if (x == 0) {
            // Never true, but the compiler does not know this and so cannot eliminate the loop.
            sink = x;
        }
    }
}
