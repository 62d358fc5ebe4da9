package stormlab;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A mapped file of little-endian longs that all workers share; their places are given in bytes. */
final class SharedLongs {
    private static final VarHandle LONG =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final MappedByteBuffer buffer;

    SharedLongs(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            buffer = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
        } catch (IOException error) {
            throw new IllegalStateException(file + " cannot be mapped: " + error, error);
        }
    }

    long get(int place) {
        return (long) LONG.getVolatile(buffer, place);
    }

    /** Add one; returns the value before. */
    long next(int place) {
        return (long) LONG.getAndAdd(buffer, place, 1L);
    }

    boolean compareAndSet(int place, long before, long after) {
        return LONG.compareAndSet(buffer, place, before, after);
    }
}
