package kdyno.driver;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** What this process has cost: read once a second and at the end. */
final class Readings {
    /** Name of the thread that reads. */
    static final String THREAD = "kdyno-readings";

    private static final long EVERY_NS = 1_000_000_000L;
    private static final long UNKNOWN = -1;
    private static final int FULL_COLLECTION = 1;

    private final Link link;
    private final com.sun.management.OperatingSystemMXBean system;
    private final Threads threads = new Threads();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();

    Readings(Link link) {
        this.link = link;
        Object systemBean = ManagementFactory.getOperatingSystemMXBean();
        boolean isKnown = systemBean instanceof com.sun.management.OperatingSystemMXBean;
        system = isKnown ? (com.sun.management.OperatingSystemMXBean) systemBean : null;
    }

    /** Reads once a second from now on, and tells of collections of the whole heap. */
    void start() {
        for (GarbageCollectorMXBean collector : collectors) {
            if (collector instanceof NotificationEmitter) {
                ((NotificationEmitter) collector).addNotificationListener((notification, none) -> {
                    if (GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION.equals(notification.getType())) {
                        collected((CompositeData) notification.getUserData());
                    }
                }, null, null);
            }
        }
        Thread thread = new Thread(this::readForEver, THREAD);
        thread.setDaemon(true);
        thread.start();
    }

    private void collected(CompositeData data) {
        GarbageCollectionNotificationInfo info = GarbageCollectionNotificationInfo.from(data);
        if (info.getGcAction().equals("end of major GC")) {
            long ms = info.getGcInfo().getDuration();
            String text = info.getGcName() + " took " + ms + " ms for the whole heap (" + info.getGcCause() + ")";
            link.event(FULL_COLLECTION, System.nanoTime(), text);
        }
    }

    private void readForEver() {
        long at = System.nanoTime();
        try {
            while (true) {
                tell();
                at = Math.max(at + EVERY_NS, System.nanoTime());
                for (long left = EVERY_NS; left > 0; left = at - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
            }
        } catch (OutOfMemoryError error) {
            Failure.outOfMemory(link);
        }
    }

    /** Reads and tells once. */
    synchronized void tell() {
        Frame frame = new Frame();
        frame.begin(Frame.READINGS).i64(System.nanoTime());
        // Before the process, of which they are a part.
        threads.read();
        frame.i64(system == null ? UNKNOWN : system.getProcessCpuTime());
        frame.i64(threads.cpuNs()).i64(threads.allocatedBytes());
        long count = 0;
        long milliseconds = 0;
        for (GarbageCollectorMXBean collector : collectors) {
            if (isCycles(collector)) {
                continue;
            }
            count += Math.max(0, collector.getCollectionCount());
            milliseconds += Math.max(0, collector.getCollectionTime());
        }
        frame.i64(count).i64(milliseconds * 1_000_000);
        Runtime runtime = Runtime.getRuntime();
        frame.i64(runtime.totalMemory() - runtime.freeMemory()).end();
        link.write(frame);
    }

    /** Of a collector that works beside the application: the application stands still in its pauses alone. */
    private boolean isCycles(GarbageCollectorMXBean collector) {
        String name = collector.getName();
        String pauses = name.replace("Cycles", "Pauses");
        return !pauses.equals(name) && collectors.stream().anyMatch(other -> other.getName().equals(pauses));
    }
}
