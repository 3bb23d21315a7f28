package kdyno.driver;

import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** The way to the worker: what clients keep is collected and written every 5 ms, everything else at once. */
final class Link {
    /** Name of the thread that collects and writes. */
    static final String THREAD = "kdyno-frames";

    private static final long PAUSE_NS = 5_000_000;

    /** Exit codes; the one of a lack of memory is that of the JVM's own option. */
    static final int FAILED = 1;
    static final int OUT_OF_MEMORY = 3;

    private final OutputStream out;
    private final Frame body = new Frame();
    private final Frame head = new Frame();
    final Reasons reasons = new Reasons();
    private volatile List<? extends Client> clients = List.of();

    Link(OutputStream out) {
        this.out = out;
    }

    /** Begins to collect what these clients keep. */
    void serve(List<? extends Client> all) {
        clients = all;
        Thread thread = new Thread(this::collectForEver, THREAD);
        thread.setDaemon(true);
        thread.start();
    }

    private void collectForEver() {
        try {
            while (true) {
                LockSupport.parkNanos(PAUSE_NS);
                collect();
            }
        } catch (OutOfMemoryError error) {
            Failure.outOfMemory(this);
        }
    }

    /** Writes what clients have kept since the last time. */
    synchronized void collect() {
        body.clear();
        for (Client client : clients) {
            client.collect(body);
        }
        if (body.length() == 0) {
            return;
        }
        // A reason is known before an outcome has it.
        head.clear();
        reasons.collect(head);
        write(head);
        write(body);
    }

    /** Writes whole frames. */
    synchronized void write(Frame frames) {
        if (frames.length() == 0) {
            return;
        }
        try {
            frames.writeTo(out);
        } catch (IOException error) {
            // The worker is gone.
            Runtime.getRuntime().halt(FAILED);
        }
    }

    void event(int kind, long at, String text) {
        Frame frame = new Frame();
        frame.begin(Frame.EVENT).i64(at).u8(kind).string(text).end();
        write(frame);
    }

    void warn(String text) {
        event(2, System.nanoTime(), text);
    }
}
