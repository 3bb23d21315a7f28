package kdyno.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Set;
import java.util.TreeSet;

/** Runs the driver and writes all threads that it had by then to a file, each on a line, {@code +} before those that count. */
public final class ShownThreads {
    private static final String THREAD = "shown-threads";

    private ShownThreads() {}

    /** The file is the argument. */
    public static void main(String[] args) {
        Path file = Path.of(args[0]);
        Thread thread = new Thread(() -> show(file), THREAD);
        thread.setDaemon(true);
        thread.start();
        Main.main(args);
    }

    private static void show(Path file) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        Set<String> shown = new TreeSet<>();
        Path newer = file.resolveSibling(file.getFileName() + ".newer");
        try {
            while (true) {
                for (ThreadInfo info : bean.getThreadInfo(bean.getAllThreadIds())) {
                    if (info != null && !info.getThreadName().equals(THREAD)) {
                        String name = info.getThreadName();
                        shown.add((Threads.isOfClients(name) ? "+" : "-") + name);
                    }
                }
                // The process may end at any instant, and must not leave half a file.
                Files.write(newer, shown);
                Files.move(newer, file, StandardCopyOption.ATOMIC_MOVE);
                Thread.sleep(50);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
