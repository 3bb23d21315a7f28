package kdyno.driver;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** What this process has cost: read once a second and at the end. */
final class Readings {
    private static final long EVERY_NS = 1_000_000_000L;
    private static final long UNKNOWN = -1;
    private static final int FULL_COLLECTION = 1;

    private final Link link;
    private final com.sun.management.OperatingSystemMXBean system;
    private final com.sun.management.ThreadMXBean threads;
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    /** From Java 21 on: what all threads have allocated, ended ones too; null: they are summed up here. */
    private final Method totalAllocated;
    /** What each thread had allocated when it was seen last: threads that end are missed from then on only. */
    private final Map<Long, Long> allocated = new HashMap<>();

    Readings(Link link) {
        this.link = link;
        Object systemBean = ManagementFactory.getOperatingSystemMXBean();
        boolean isKnown = systemBean instanceof com.sun.management.OperatingSystemMXBean;
        system = isKnown ? (com.sun.management.OperatingSystemMXBean) systemBean : null;
        Object threadBean = ManagementFactory.getThreadMXBean();
        isKnown = threadBean instanceof com.sun.management.ThreadMXBean;
        threads = isKnown ? (com.sun.management.ThreadMXBean) threadBean : null;
        Method found = null;
        try {
            found = com.sun.management.ThreadMXBean.class.getMethod("getTotalThreadAllocatedBytes");
        } catch (NoSuchMethodException error) {
            // An older Java.
        }
        totalAllocated = found;
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
        Thread thread = new Thread(this::readForEver, "kdyno-readings");
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
        frame.i64(system == null ? UNKNOWN : system.getProcessCpuTime());
        frame.i64(allocated());
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

    private long allocated() {
        if (threads == null || !threads.isThreadAllocatedMemorySupported()) {
            return UNKNOWN;
        }
        if (totalAllocated != null) {
            try {
                return (Long) totalAllocated.invoke(threads);
            } catch (IllegalAccessException | InvocationTargetException error) {
                return UNKNOWN;
            }
        }
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        for (int i = 0; i < ids.length; i++) {
            if (bytes[i] >= 0) {
                allocated.put(ids[i], bytes[i]);
            }
        }
        long sum = 0;
        for (long ofThread : allocated.values()) {
            sum += ofThread;
        }
        return sum;
    }
}
