package agent;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Replaces a class by another one in a class file, in calls of its constructor with one int and of one of its
 * static methods. Two constants are added at the end of the pool; everything else keeps its place and size
 * (Java Virtual Machine Specification, 4.4).
 */
final class ClassPatch {
    private static final int NEW = 0xBB;
    private static final int DUP = 0x59;

    private final byte[] code;
    private final int[] offsets;
    private final int end;

    /** Find the offsets of a class file's constants. */
    ClassPatch(byte[] code) {
        this.code = code;
        offsets = new int[number(8)];
        int at = 10;
        for (int index = 1; index < offsets.length; index++) {
            offsets[index] = at;
            int tag = code[at];
            switch (tag) {
                case 1 -> at += 3 + number(at + 1);
                case 7, 8, 16, 19, 20 -> at += 3;
                case 15 -> at += 4;
                case 3, 4, 9, 10, 11, 12, 17, 18 -> at += 5;
                case 5, 6 -> {
                    at += 9;
                    index++; // a long constant takes two entries
                }
                default -> throw new IllegalArgumentException("constant of kind " + tag);
            }
        }
        end = at;
    }

    /** Return the class file with {@code to} in place of {@code from}; null if it has no such calls. */
    byte[] replace(String from, String to, String staticMethod) {
        int old = classOf(from);
        if (old == 0) {
            return null;
        }
        byte[] changed = code.clone();
        int added = offsets.length; // index of the name; the class is next
        boolean makes = false;
        boolean any = false;
        for (int index = 1; index < offsets.length; index++) {
            int at = offsets[index];
            if (at == 0 || code[at] != 10 || number(at + 1) != old) {
                continue;
            }
            int nameAndType = offsets[number(at + 3)];
            String method = text(number(nameAndType + 1));
            boolean constructor = method.equals("<init>") && text(number(nameAndType + 3)).equals("(I)V");
            if (constructor || method.equals(staticMethod)) {
                put(changed, at + 1, added + 1);
                makes |= constructor;
                any = true;
            }
        }
        if (!any) {
            return null;
        }
        for (int at = end; makes && at + 3 < code.length; at++) {
            if ((code[at] & 0xFF) == NEW && number(at + 1) == old && code[at + 3] == DUP) {
                put(changed, at + 1, added + 1);
            }
        }
        return withConstants(changed, to, added);
    }

    private byte[] withConstants(byte[] changed, String name, int added) {
        try (ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                DataOutputStream out = new DataOutputStream(bytes)) {
            out.write(changed, 0, 8);
            out.writeShort(added + 2);
            out.write(changed, 10, end - 10);
            out.writeByte(1);
            out.writeUTF(name);
            out.writeByte(7);
            out.writeShort(added);
            out.write(changed, end, changed.length - end);
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private int classOf(String name) {
        for (int index = 1; index < offsets.length; index++) {
            int at = offsets[index];
            if (at != 0 && code[at] == 7 && text(number(at + 1)).equals(name)) {
                return index;
            }
        }
        return 0;
    }

    private String text(int index) {
        int at = offsets[index];
        return new String(code, at + 3, number(at + 1), StandardCharsets.UTF_8);
    }

    private int number(int at) {
        return (code[at] & 0xFF) << 8 | code[at + 1] & 0xFF;
    }

    private static void put(byte[] code, int at, int number) {
        code[at] = (byte) (number >> 8);
        code[at + 1] = (byte) number;
    }
}
