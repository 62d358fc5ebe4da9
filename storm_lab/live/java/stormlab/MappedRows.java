package stormlab;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of 32 bytes in a file that grows piece by piece. The file is mapped, so that what has been written
 * survives even if the JVM is killed. Only one thread writes; rows that were never written are zeroes.
 */
final class MappedRows {
    static final int ROW = 32;
    private static final int ROWS_A_PIECE = 1 << 15;

    private final FileChannel channel;
    private final List<MappedByteBuffer> pieces = new ArrayList<>();
    private MappedByteBuffer newest;
    private long rows;

    MappedRows(Path file) {
        try {
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        } catch (IOException error) {
            throw new IllegalStateException(file + " cannot be written: " + error, error);
        }
    }

    /** Begin a row; returns its number. Its fields are set with the other methods. */
    long add() {
        if (rows % ROWS_A_PIECE == 0) {
            try {
                long bytes = (long) ROWS_A_PIECE * ROW;
                newest = channel.map(FileChannel.MapMode.READ_WRITE, pieces.size() * bytes, bytes);
                newest.order(ByteOrder.LITTLE_ENDIAN);
                pieces.add(newest);
            } catch (IOException error) {
                throw new IllegalStateException("a log cannot grow: " + error, error);
            }
        }
        return rows++;
    }

    void setLong(long row, int offset, long value) {
        piece(row).putLong((int) (row % ROWS_A_PIECE) * ROW + offset, value);
    }

    void setInt(long row, int offset, int value) {
        piece(row).putInt((int) (row % ROWS_A_PIECE) * ROW + offset, value);
    }

    private MappedByteBuffer piece(long row) {
        return pieces.get((int) (row / ROWS_A_PIECE));
    }
}
