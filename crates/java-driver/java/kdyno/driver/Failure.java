package kdyno.driver;

import org.apache.kafka.common.config.ConfigException;

/** The end of a process that cannot go on. */
final class Failure {
    private static final int OTHER = 0;
    private static final int SETTING = 1;
    private static final int MEMORY = 2;

    private Failure() {}

    /** Tells the worker why, and ends the process. */
    static void of(Link link, Throwable error) {
        StringBuilder text = new StringBuilder();
        int kind = OTHER;
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConfigException) {
                kind = SETTING;
            }
            String told = cause.getMessage() != null ? cause.getMessage() : cause.getClass().getName();
            if (text.indexOf(told) < 0) {
                text.append(text.length() > 0 ? ": " : "").append(told);
            }
        }
        if (kind == OTHER) {
            text.append(" (").append(error.getClass().getSimpleName()).append(')');
        }
        end(link, kind, text.toString(), Link.FAILED);
    }

    /** The same of a lack of memory, of which a worker may hear no more than the exit code. */
    static void outOfMemory(Link link) {
        try {
            end(link, MEMORY, "out of memory: give it more with -Xmx among its jvm options", Link.OUT_OF_MEMORY);
        } finally {
            Runtime.getRuntime().halt(Link.OUT_OF_MEMORY);
        }
    }

    private static void end(Link link, int kind, String text, int code) {
        Frame frame = new Frame();
        frame.begin(Frame.FAILED).u8(kind).string(text).end();
        link.write(frame);
        Runtime.getRuntime().halt(code);
    }
}
