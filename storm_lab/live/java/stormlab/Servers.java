package stormlab;

/**
 * External servers that all workers share. Each handles a number of requests at once; further requests wait. A
 * mapped file holds the time at which each place of a server becomes free.
 */
final class Servers {
    private final int places;
    private final long latencyNs;
    private final SharedLongs free;

    Servers(Plan plan) {
        places = (int) plan.whole("server_places");
        latencyNs = plan.whole("server_latency_ns");
        String file = plan.text("servers");
        free = file == null ? null : new SharedLongs(plan.folder.resolve(file));
    }

    /** Send a request now; returns the time at which its answer arrives. */
    long ask(int server, long serviceNs) {
        long now = System.nanoTime();
        if (places == 0) {
            return now + latencyNs + serviceNs;
        }
        while (true) {
            int best = server * places;
            for (int i = best + 1; i < (server + 1) * places; i++) {
                if (free.get(i * 8) < free.get(best * 8)) {
                    best = i;
                }
            }
            long before = free.get(best * 8);
            long end = Math.max(now + latencyNs / 2, before) + serviceNs;
            if (free.compareAndSet(best * 8, before, end)) {
                return end + latencyNs - latencyNs / 2;
            }
        }
    }
}
