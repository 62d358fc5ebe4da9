package stormlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A memory-mapped workload trace: records (one call of user code each) and emissions (one emit call each). */
final class Trace {
    private static final int RECORD = 40;
    private static final int EMISSION = 16;

    private static Trace last;
    private static Path lastFolder;

    private final ByteBuffer records;
    private final ByteBuffer emissions;

    private Trace(Path folder) {
        records = map(folder.resolve("records.bin"));
        emissions = map(folder.resolve("emissions.bin"));
    }

    /** Return the trace of a folder, which the executors of a worker share. */
    static synchronized Trace of(Path folder) {
        if (last == null || !lastFolder.equals(folder)) {
            last = new Trace(folder);
            lastFolder = folder;
        }
        return last;
    }

    static ByteBuffer map(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()).order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException error) {
            throw new IllegalStateException(file + " cannot be read: " + error, error);
        }
    }

    static LongBuffer longs(Path file) {
        return map(file).asLongBuffer();
    }

    /** CPU of the call on this machine, ns. */
    long cpuNs(int record) {
        return records.getLong(record * RECORD);
    }

    /** Service time of the request to the external server, ns. */
    long serverNs(int record) {
        return records.getLong(record * RECORD + 8);
    }

    /** Index of the external server; -1 = none. */
    int server(int record) {
        return records.getInt(record * RECORD + 16);
    }

    int key(int record) {
        return records.getInt(record * RECORD + 20);
    }

    int key2(int record) {
        return records.getInt(record * RECORD + 24);
    }

    int firstEmission(int record) {
        return records.getInt(record * RECORD + 28);
    }

    /** Number of emissions; -1 = the call fails its input tuple. */
    int emissions(int record) {
        return records.getInt(record * RECORD + 32);
    }

    boolean resets(int record) {
        return records.getInt(record * RECORD + 36) != 0;
    }

    int firstRecord(int emission) {
        return emissions.getInt(emission * EMISSION);
    }

    int stream(int emission) {
        return emissions.getInt(emission * EMISSION + 4);
    }

    /** Recorded payload, bytes. */
    int bytes(int emission) {
        return emissions.getInt(emission * EMISSION + 8);
    }

    /** Characters of text that pad the tuple to its payload. */
    int characters(int emission) {
        return emissions.getInt(emission * EMISSION + 12);
    }
}
