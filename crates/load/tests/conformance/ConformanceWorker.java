import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A worker of kdyno in another language: it produces nothing, and says so as the protocol wants it
 * (docs/reference/worker.schema.json). A place to begin for one that drives the Java client.
 *
 * Run by the lab as {@code java ConformanceWorker}, with the lab's socket as descriptor 0.
 */
public final class ConformanceWorker {
    static final int PROTOCOL = 8;
    static final int FRAME_BYTES_MAX = 64 << 20;
    static final long SECOND = 1_000_000_000L;
    static final long MEASURE_AHEAD_NS = SECOND;
    static final long START_LATE_NS_MAX = SECOND;

    /** What the reading thread passes on at the end of the socket. */
    static final Object LAB_GONE = new Object();

    public static void main(String[] args) {
        SocketChannel lab;
        try {
            Channel inherited = System.inheritedChannel();
            if (!(inherited instanceof SocketChannel)) {
                throw new IOException("descriptor 0 is no connected socket");
            }
            lab = (SocketChannel) inherited;
            lab.configureBlocking(true);
        } catch (IOException error) {
            System.err.println("error: " + error.getMessage());
            System.exit(2);
            return;
        }
        int code = 0;
        try {
            new ConformanceWorker(lab).run();
        } catch (IOException | InterruptedException | RuntimeException error) {
            code = 1;
            try {
                write(lab, Map.of("failed", Map.of("message", String.valueOf(error.getMessage()))));
            } catch (IOException gone) {
                // The lab is gone; the exit code says the rest.
            }
        }
        System.exit(code);
    }

    private final SocketChannel lab;
    private final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
    private final Map<String, byte[]> secrets = new LinkedHashMap<>();
    private long worker;
    private List<?> streams;
    private long measureLengthNs;
    private Long t0Ns;
    private Long measureNs;
    private boolean isStopped;
    private long[] sequences;

    private ConformanceWorker(SocketChannel lab) {
        this.lab = lab;
    }

    private void run() throws IOException, InterruptedException {
        // On Linux this is CLOCK_MONOTONIC, the clock of the lab.
        write(lab, Map.of("hello", Map.of("protocol", PROTOCOL, "monotonic_ns", System.nanoTime())));
        Object message = read(lab);
        if (message instanceof Map && ((Map<?, ?>) message).containsKey("secrets")) {
            keepSecrets(field(message, "secrets"));
            message = read(lab);
        }
        for (; message instanceof Map && ((Map<?, ?>) message).containsKey("given"); message = read(lab)) {
            checkGiven(field(message, "given"));
        }
        prepare(message);
        write(lab, "prepared");
        Thread reader = new Thread(this::readAll);
        reader.setDaemon(true);
        reader.start();
        long second = 0;
        while (!isStopped && second * SECOND < loadEndNs()) {
            long waitNs = t0Ns == null ? SECOND : t0Ns + (second + 1) * SECOND - System.nanoTime();
            Object said = heard.poll(Math.max(waitNs, 0), TimeUnit.NANOSECONDS);
            if (said != null) {
                apply(said);
            } else if (t0Ns != null) {
                sample(second++);
            }
        }
        List<Object> totals = new ArrayList<>();
        for (Object stream : streams) {
            List<Object> clients = new ArrayList<>();
            for (long client = integer(stream, "client_count"); client > 0; client--) {
                clients.add(Map.of("records", 0, "span_ns", 0));
            }
            totals.add(Map.of("id", id(stream), "counts", Map.of(), "clients", clients));
        }
        write(lab, Map.of("done", totals));
    }

    /** Values by name, for a client that has to show one. They stay in memory, and no error repeats one. */
    private void keepSecrets(Object byName) throws IOException {
        if (!(byName instanceof Map)) {
            throw new IOException("the secrets are no map");
        }
        for (Map.Entry<?, ?> secret : ((Map<?, ?>) byName).entrySet()) {
            try {
                secrets.put((String) secret.getKey(), Base64.getDecoder().decode((String) secret.getValue()));
            } catch (ClassCastException | IllegalArgumentException error) {
                throw new IOException("a secret is no base64 text");
            }
        }
    }

    /** Keys or values that streams take, behind one another, with the bytes of each; this worker sends none of them. */
    private static void checkGiven(Object given) throws IOException {
        field(given, "source");
        try {
            long left = Base64.getDecoder().decode((String) field(given, "bytes")).length;
            List<?> lengths = (List<?>) field(given, "lengths");
            for (Object length : lengths) {
                left -= ((BigDecimal) length).longValueExact();
            }
            if (lengths.isEmpty() || left != 0) {
                throw new IOException("what is given is not as long as it says");
            }
        } catch (ArithmeticException | ClassCastException | IllegalArgumentException error) {
            throw new IOException("what is given is no list of lengths beside base64 text");
        }
    }

    private void prepare(Object message) throws IOException {
        if (!(message instanceof Map) || !((Map<?, ?>) message).containsKey("prepare")) {
            throw new IOException(message == LAB_GONE ? "the lab is gone" : "the lab did not send a task");
        }
        Object task = field(message, "prepare");
        worker = integer(task, "worker");
        streams = (List<?>) field(task, "streams");
        measureLengthNs = integer(field(task, "phases"), "measure_ns");
        sequences = new long[streams.size()];
    }

    private void apply(Object message) throws IOException {
        if (message instanceof IOException) {
            throw (IOException) message;
        } else if (message == LAB_GONE) {
            throw new IOException("the lab is gone");
        } else if (message.equals("stop")) {
            isStopped = true;
        } else if (message.equals("drain") && t0Ns != null) {
            // It fetches nothing that could be left.
            isStopped = true;
        } else if (message instanceof Map && ((Map<?, ?>) message).containsKey("start") && t0Ns == null) {
            t0Ns = integer(field(message, "start"), "t0_monotonic_ns");
            if (System.nanoTime() - t0Ns > START_LATE_NS_MAX) {
                throw new IOException("the start was announced too late");
            }
        } else if (message instanceof Map && ((Map<?, ?>) message).containsKey("measure")) {
            measure(integer(field(message, "measure"), "start_ns"));
        } else if (message instanceof Map && ((Map<?, ?>) message).containsKey("secrets")) {
            keepSecrets(field(message, "secrets"));
        } else {
            throw new IOException("the lab said something out of turn");
        }
    }

    private void measure(long startNs) throws IOException {
        long nowNs = System.nanoTime();
        boolean isRunning = t0Ns != null && t0Ns <= nowNs;
        if (measureNs != null || startNs % SECOND != 0) {
            throw new IOException("the measure phase begins once, on a whole second");
        } else if (isRunning && t0Ns + startNs - nowNs < MEASURE_AHEAD_NS) {
            throw new IOException("the measure phase was announced too late");
        }
        measureNs = startNs;
    }

    private long loadEndNs() {
        return measureNs == null ? Long.MAX_VALUE : measureNs + measureLengthNs;
    }

    /** What was counted in a second: nothing. */
    private void sample(long second) throws IOException {
        boolean isMeasured = measureNs != null && second * SECOND >= measureNs;
        for (int i = 0; i < streams.size(); i++) {
            Map<String, Object> sample = new LinkedHashMap<>();
            sample.put("id", id(streams.get(i)));
            sample.put("sequence", sequences[i]++);
            sample.put("grain", "second");
            sample.put("phase", isMeasured ? "measure" : "warmup");
            sample.put("t0_second", second);
            sample.put("written_second", second);
            write(lab, Map.of("sample", sample));
        }
    }

    private Map<String, Object> id(Object stream) throws IOException {
        return Map.of("worker", worker, "stream", integer(stream, "stream"));
    }

    private void readAll() {
        Object message;
        do {
            try {
                message = read(lab);
            } catch (IOException error) {
                message = error;
            }
            heard.add(message);
        } while (message != LAB_GONE && !(message instanceof IOException));
    }

    private static Object field(Object map, String name) throws IOException {
        Object value = map instanceof Map ? ((Map<?, ?>) map).get(name) : null;
        if (value == null) {
            throw new IOException("a message without `" + name + "`");
        }
        return value;
    }

    private static long integer(Object map, String name) throws IOException {
        Object value = field(map, name);
        try {
            return ((BigDecimal) value).longValueExact();
        } catch (ArithmeticException | ClassCastException error) {
            throw new IOException("`" + name + "` is no 64-bit integer");
        }
    }

    private static Object read(SocketChannel lab) throws IOException {
        ByteBuffer prefix = ByteBuffer.allocate(4);
        if (!fill(lab, prefix)) {
            return LAB_GONE;
        }
        int length = prefix.getInt(0);
        if (length < 0 || length > FRAME_BYTES_MAX) {
            throw new IOException("a message claims too many bytes");
        }
        ByteBuffer body = ByteBuffer.allocate(length);
        if (!fill(lab, body) && length > 0) {
            throw new EOFException("the lab ended inside a message");
        }
        try {
            return new Json(StandardCharsets.UTF_8.newDecoder().decode(body.flip()).toString()).document();
        } catch (CharacterCodingException error) {
            throw new IOException("a message is no UTF-8");
        }
    }

    /** Whether there was anything to read. */
    private static boolean fill(SocketChannel lab, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            if (lab.read(buffer) < 0) {
                if (buffer.position() == 0) {
                    return false;
                }
                throw new EOFException("the lab ended inside a message");
            }
        }
        return true;
    }

    private static synchronized void write(SocketChannel lab, Object message) throws IOException {
        StringBuilder text = new StringBuilder();
        Json.write(message, text);
        byte[] body = text.toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer frame = ByteBuffer.allocate(4 + body.length).putInt(body.length).put(body).flip();
        while (frame.hasRemaining()) {
            lab.write(frame);
        }
    }

    /** As much JSON as the messages need: objects are maps, arrays lists, numbers {@link BigDecimal}. */
    private static final class Json {
        private static final int DEPTH_MAX = 64;
        private final String text;
        private int at;
        private int depth;

        Json(String text) {
            this.text = text;
        }

        Object document() throws IOException {
            Object value = value();
            if (peek() != 0) {
                throw wrong("something after the message");
            }
            return value;
        }

        private IOException wrong(String what) {
            return new IOException("no JSON: " + what + " at character " + at);
        }

        /** The next character that is no blank, 0 at the end. */
        private char peek() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean take(char wanted) {
            boolean isThere = peek() == wanted;
            at += isThere ? 1 : 0;
            return isThere;
        }

        private void expect(char wanted) throws IOException {
            if (!take(wanted)) {
                throw wrong("no `" + wanted + "`");
            }
        }

        private Object value() throws IOException {
            if (++depth > DEPTH_MAX) {
                throw wrong("too many levels");
            }
            Object value;
            switch (peek()) {
                case '{': value = object(); break;
                case '[': value = array(); break;
                case '"': value = string(); break;
                default: value = word();
            }
            depth--;
            return value;
        }

        private Map<String, Object> object() throws IOException {
            Map<String, Object> fields = new LinkedHashMap<>();
            expect('{');
            if (take('}')) {
                return fields;
            }
            do {
                String name = string();
                expect(':');
                fields.put(name, value());
            } while (take(','));
            expect('}');
            return fields;
        }

        private List<Object> array() throws IOException {
            List<Object> items = new ArrayList<>();
            expect('[');
            if (take(']')) {
                return items;
            }
            do {
                items.add(value());
            } while (take(','));
            expect(']');
            return items;
        }

        private String string() throws IOException {
            expect('"');
            StringBuilder value = new StringBuilder();
            while (at < text.length() && text.charAt(at) != '"') {
                char next = text.charAt(at++);
                value.append(next == '\\' ? escaped() : next);
            }
            if (at++ >= text.length()) {
                throw wrong("a string without end");
            }
            return value.toString();
        }

        private char escaped() throws IOException {
            int kind = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
            if (kind >= 0 && kind < 8) {
                return "\"\\/\b\f\n\r\t".charAt(kind);
            }
            try {
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            } catch (IndexOutOfBoundsException | NumberFormatException error) {
                throw wrong("an unknown escape");
            }
        }

        /** A number, `true`, `false` or `null`. */
        private Object word() throws IOException {
            int start = at;
            while (at < text.length() && ",:]}[{\" \t\r\n".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(start, at);
            switch (word) {
                case "true": return true;
                case "false": return false;
                case "null": return null;
                default:
            }
            try {
                return new BigDecimal(word);
            } catch (NumberFormatException error) {
                throw wrong("an unknown word");
            }
        }

        static void write(Object value, StringBuilder out) {
            if (value instanceof Map) {
                String separator = "{";
                for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
                    out.append(separator);
                    write(field.getKey(), out);
                    write(field.getValue(), out.append(':'));
                    separator = ",";
                }
                out.append(separator.equals("{") ? "{}" : "}");
            } else if (value instanceof List) {
                String separator = "[";
                for (Object item : (List<?>) value) {
                    write(item, out.append(separator));
                    separator = ",";
                }
                out.append(separator.equals("[") ? "[]" : "]");
            } else if (value instanceof String) {
                out.append('"');
                for (char next : ((String) value).toCharArray()) {
                    if (next == '"' || next == '\\') {
                        out.append('\\').append(next);
                    } else if (next < ' ') {
                        out.append(String.format("\\u%04x", (int) next));
                    } else {
                        out.append(next);
                    }
                }
                out.append('"');
            } else {
                out.append(value);
            }
        }
    }
}
