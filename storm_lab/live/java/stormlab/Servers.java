package stormlab;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * External servers that all workers share. Each handles a number of requests at once; further requests wait. A
 * mapped file holds the time at which each place of a server becomes free.
 */
final class Servers {
    private static final VarHandle LONG =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final int places;
    private final long latencyNs;
    private final MappedByteBuffer free;

    Servers(Plan plan) {
        places = (int) plan.whole("server_places");
        latencyNs = plan.whole("server_latency_ns");
        String file = plan.text("servers");
        free = file == null ? null : shared(plan.folder.resolve(file));
    }

    private static MappedByteBuffer shared(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
        } catch (IOException error) {
            throw new IllegalStateException(file + " cannot be mapped: " + error, error);
        }
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
                if ((long) LONG.getVolatile(free, i * 8) < (long) LONG.getVolatile(free, best * 8)) {
                    best = i;
                }
            }
            long before = (long) LONG.getVolatile(free, best * 8);
            long end = Math.max(now + latencyNs / 2, before) + serviceNs;
            if (LONG.compareAndSet(free, best * 8, before, end)) {
                return end + latencyNs - latencyNs / 2;
            }
        }
    }
}
