package kdyno.driver;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * What the clients and their application have taken: all threads that Java shows but those by which kdyno feeds and reads this
 * process, and Java's own. Java shows no thread that compiles, and none that collects garbage.
 */
final class Threads {
    private static final long UNKNOWN = -1;
    /** First kdyno's, then Java's own, of which {@code Notification Thread} tells {@link Readings} of collections. */
    private static final Set<String> LEFT_OUT = Set.of(
            "main", Link.THREAD, Readings.THREAD, Main.END_THREAD,
            "Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner", "Logging-Cleaner",
            "Notification Thread");

    private final com.sun.management.ThreadMXBean bean;
    private final boolean hasCpu;
    private final boolean hasAllocated;
    /** Of each thread that was seen: whether it counts, which its name says. */
    private final Map<Long, Boolean> counts = new HashMap<>();
    /** What each had taken when it was seen last: what threads that end take is missed from then on only. */
    private final Map<Long, Long> cpu = new HashMap<>();
    private final Map<Long, Long> allocated = new HashMap<>();

    Threads() {
        Object found = ManagementFactory.getThreadMXBean();
        boolean isKnown = found instanceof com.sun.management.ThreadMXBean;
        bean = isKnown ? (com.sun.management.ThreadMXBean) found : null;
        hasCpu = isKnown && bean.isThreadCpuTimeSupported() && bean.isThreadCpuTimeEnabled();
        hasAllocated = isKnown && bean.isThreadAllocatedMemorySupported() && bean.isThreadAllocatedMemoryEnabled();
    }

    void read() {
        if (!hasCpu && !hasAllocated) {
            return;
        }
        long[] ids = counting(bean.getAllThreadIds());
        if (hasCpu) {
            keep(cpu, ids, bean.getThreadCpuTime(ids));
        }
        if (hasAllocated) {
            keep(allocated, ids, bean.getThreadAllocatedBytes(ids));
        }
    }

    /** Processor time as it was read last; −1: not known. */
    long cpuNs() {
        return hasCpu ? sum(cpu) : UNKNOWN;
    }

    /** Bytes of the heap as they were read last; −1: not known. */
    long allocatedBytes() {
        return hasAllocated ? sum(allocated) : UNKNOWN;
    }

    private long[] counting(long[] ids) {
        long[] found = new long[ids.length];
        int count = 0;
        for (long id : ids) {
            if (isCounting(id)) {
                found[count++] = id;
            }
        }
        return Arrays.copyOf(found, count);
    }

    private boolean isCounting(long id) {
        Boolean known = counts.get(id);
        if (known == null) {
            ThreadInfo info = bean.getThreadInfo(id);
            if (info == null) {
                // It has ended meanwhile.
                return false;
            }
            known = isOfClients(info.getThreadName());
            counts.put(id, known);
        }
        return known;
    }

    /** Whether a thread of this name is one of the clients' or the application's. */
    static boolean isOfClients(String name) {
        return !LEFT_OUT.contains(name);
    }

    private static void keep(Map<Long, Long> kept, long[] ids, long[] values) {
        for (int i = 0; i < ids.length; i++) {
            // −1: it has ended meanwhile.
            if (values[i] >= 0) {
                kept.put(ids[i], values[i]);
            }
        }
    }

    private static long sum(Map<Long, Long> kept) {
        long sum = 0;
        for (long ofThread : kept.values()) {
            sum += ofThread;
        }
        return sum;
    }
}
