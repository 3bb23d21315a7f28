package kdyno.driver;

import java.util.Map;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/** One client and its thread. */
abstract class Client extends Thread {
    protected final Link link;
    protected final Task task;
    /** Its place in this process. */
    protected final int index;
    /** How long closing may take, once it is to close. */
    protected volatile long closeMs = -1;

    Client(Link link, Task task, int index) {
        super("kdyno-client-" + (task.clientFirst + index));
        this.link = link;
        this.task = task;
        this.index = index;
        setDaemon(true);
    }

    @Override
    public final void run() {
        try {
            work();
        } catch (OutOfMemoryError error) {
            Failure.outOfMemory(link);
        } catch (Throwable error) {
            Failure.of(link, error);
        }
    }

    /** From its making to its close. */
    protected abstract void work() throws Exception;

    /** Appends what it has kept since the last time; called by the thread that writes. */
    abstract void collect(Frame frames);

    /** Closes, which may take so long. */
    abstract void close(long milliseconds);

    /** Tells the worker that it is ready. */
    protected final void ready(long began, int partitions) {
        Frame frame = new Frame();
        frame.begin(Frame.READY).i32(index).i64(began).i64(System.nanoTime()).i32(partitions).end();
        link.write(frame);
    }

    /** Tells the worker what the client counted of itself. */
    protected final void tellMetrics(Map<MetricName, ? extends Metric> metrics) {
        Frame frame = new Frame();
        frame.begin(Frame.METRICS).i32(index).string(Metrics.text(metrics)).end();
        link.write(frame);
    }

    /** Its name in words that the worker's user reads. */
    protected final String named() {
        return "client " + (task.clientFirst + index);
    }
}
