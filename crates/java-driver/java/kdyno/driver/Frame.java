package kdyno.driver;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Frames to the worker, one behind the other: each a length, a kind and a body, big-endian (docs/design/java-driver.md). */
final class Frame {
    static final int HELLO = 1;
    static final int READY = 2;
    static final int OUTCOMES = 3;
    static final int REASON = 4;
    static final int CONSUMED = 5;
    static final int LAG = 6;
    static final int READINGS = 7;
    static final int EVENT = 8;
    static final int METRICS = 9;
    static final int FAILED = 10;
    static final int ENDED = 11;
    static final int ASSIGNMENT = 12;
    static final int CAUGHT_UP = 13;
    static final int SETTINGS = 14;
    static final int TRANSACTION = 15;

    /** Longer texts are cut off: the worker takes no frame above 4 MiB. */
    private static final int TEXT_BYTES_MAX = 3 << 20;

    private byte[] bytes = new byte[1 << 16];
    private int length;
    private int begin;

    Frame begin(int kind) {
        begin = length;
        return i32(0).u8(kind);
    }

    void end() {
        putInt(begin, length - begin - 4);
    }

    int length() {
        return length;
    }

    void clear() {
        length = 0;
    }

    Frame u8(int value) {
        room(1);
        bytes[length++] = (byte) value;
        return this;
    }

    Frame i16(int value) {
        return u8(value >>> 8).u8(value);
    }

    Frame i32(int value) {
        room(4);
        putInt(length, value);
        length += 4;
        return this;
    }

    Frame i64(long value) {
        return i32((int) (value >>> 32)).i32((int) value);
    }

    Frame string(String text) {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        int count = encoded.length;
        if (count > TEXT_BYTES_MAX) {
            count = TEXT_BYTES_MAX;
            // Not within a character.
            while ((encoded[count] & 0xc0) == 0x80) {
                count--;
            }
        }
        i32(count);
        room(count);
        System.arraycopy(encoded, 0, bytes, length, count);
        length += count;
        return this;
    }

    /** Writes a number over one that was put there before. */
    void putInt(int at, int value) {
        bytes[at] = (byte) (value >>> 24);
        bytes[at + 1] = (byte) (value >>> 16);
        bytes[at + 2] = (byte) (value >>> 8);
        bytes[at + 3] = (byte) value;
    }

    void append(Frame other) {
        room(other.length);
        System.arraycopy(other.bytes, 0, bytes, length, other.length);
        length += other.length;
    }

    void writeTo(OutputStream out) throws IOException {
        out.write(bytes, 0, length);
    }

    private void room(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }
}
