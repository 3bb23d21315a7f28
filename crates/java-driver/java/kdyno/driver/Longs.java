package kdyno.driver;

import java.util.Arrays;

/** Numbers that threads append and one thread takes, all at once. */
final class Longs {
    private long[] kept = new long[1 << 12];
    private long[] spare = new long[1 << 12];
    private int count;
    private int taken;

    synchronized void add(long first, long second) {
        room(2);
        kept[count++] = first;
        kept[count++] = second;
    }

    synchronized void add(long first, long second, long third) {
        room(3);
        kept[count++] = first;
        kept[count++] = second;
        kept[count++] = third;
    }

    private void room(int more) {
        if (kept.length - count < more) {
            kept = Arrays.copyOf(kept, 2 * kept.length);
        }
    }

    /** What was appended since the last call, up to {@link #taken()}; good until the next one. */
    synchronized long[] take() {
        long[] full = kept;
        kept = spare;
        spare = full;
        taken = count;
        count = 0;
        return full;
    }

    int taken() {
        return taken;
    }
}
