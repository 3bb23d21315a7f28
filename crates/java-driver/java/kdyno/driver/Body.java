package kdyno.driver;

import java.nio.charset.StandardCharsets;

/** The body of a frame from the worker, read from its beginning. */
final class Body {
    private final byte[] bytes;
    private int at;

    Body(byte[] bytes) {
        this.bytes = bytes;
    }

    int u8() {
        return bytes[at++] & 0xff;
    }

    int i32() {
        int value = (bytes[at] & 0xff) << 24 | (bytes[at + 1] & 0xff) << 16 | (bytes[at + 2] & 0xff) << 8
                | (bytes[at + 3] & 0xff);
        at += 4;
        return value;
    }

    long i64() {
        long high = i32();
        return high << 32 | (i32() & 0xffffffffL);
    }

    /** Null where there are none. */
    byte[] bytes() {
        int length = i32();
        return length < 0 ? null : take(length);
    }

    byte[] take(int length) {
        byte[] taken = new byte[length];
        System.arraycopy(bytes, at, taken, 0, length);
        at += length;
        return taken;
    }

    String string() {
        int length = i32();
        String text = new String(bytes, at, length, StandardCharsets.UTF_8);
        at += length;
        return text;
    }

    /** A string, which most often is the one of before. */
    String string(String before, byte[] beforeBytes) {
        int length = i32();
        boolean isSame = beforeBytes != null && beforeBytes.length == length;
        for (int i = 0; isSame && i < length; i++) {
            isSame = bytes[at + i] == beforeBytes[i];
        }
        at += length;
        return isSame ? before : new String(bytes, at - length, length, StandardCharsets.UTF_8);
    }
}
