package kdyno.driver;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/**
 * What the worker writes, read with fewer calls and copies: Java's streams allocate memory outside the heap for
 * each larger read and copy once more.
 */
final class Input {
    /** As much as a socket holds. */
    private static final int BYTES = 256 << 10;

    private final ReadableByteChannel channel;
    private final ByteBuffer held = ByteBuffer.allocateDirect(BYTES).flip();

    Input(ReadableByteChannel channel) {
        this.channel = channel;
    }

    int u8() throws IOException {
        fill(1);
        return held.get() & 0xff;
    }

    int i32() throws IOException {
        fill(Integer.BYTES);
        return held.getInt();
    }

    /** The next bytes, however many. */
    byte[] take(int length) throws IOException {
        byte[] bytes = new byte[length];
        int at = 0;
        while (at < length) {
            fill(1);
            int count = Math.min(held.remaining(), length - at);
            held.get(bytes, at, count);
            at += count;
        }
        return bytes;
    }

    /** Reads until at least so many bytes are held. */
    private void fill(int least) throws IOException {
        if (held.remaining() >= least) {
            return;
        }
        held.compact();
        while (held.position() < least) {
            if (channel.read(held) < 0) {
                throw new EOFException();
            }
        }
        held.flip();
    }
}
