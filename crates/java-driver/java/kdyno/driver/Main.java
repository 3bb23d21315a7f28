package kdyno.driver;

import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * Carries the clients of one load item for a worker of kdyno, which is at the other end of descriptor 0: what it hands over is
 * sent, or what is polled is told. Nothing is decided here. See docs/design/java-driver.md.
 */
public final class Main {
    /** Name of the thread that closes clients. */
    static final String END_THREAD = "kdyno-end";

    private static final int TASK = 1;
    private static final int RECORDS = 2;
    private static final int UNTIL = 3;
    private static final int TOKEN = 4;
    private static final int END = 5;
    private static final int FLUSH = 6;
    private static final int BEGIN = 7;
    private static final int CATCH_UP = 8;
    private static final String UNKNOWN = "unknown";
    private static final String LOGIN_MODULE =
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;";
    /** The largest record, and what is around it. */
    private static final int FRAME_BYTES_MAX = 80 << 20;
    /** Longer than clients take that close in time. */
    private static final long JOIN_MS = 500;

    private final Link link;
    private final Readings readings;
    private List<Sender> senders = List.of();
    private List<Fetcher> fetchers = List.of();

    private Main(Link link) {
        this.link = link;
        readings = new Readings(link);
    }

    /** Runs until the worker says so, or its end of the socket is closed. */
    public static void main(String[] args) {
        // A socket is written to where it is read from.
        Link link = new Link(new FileOutputStream(FileDescriptor.in));
        int code = 0;
        try {
            Input in = new Input(new FileInputStream(FileDescriptor.in).getChannel());
            Main main = new Main(link);
            main.hello();
            main.readings.start();
            while (true) {
                main.read(in);
            }
        } catch (EOFException end) {
            // The worker is gone, or wants no more.
            code = Link.FAILED;
        } catch (OutOfMemoryError error) {
            Failure.outOfMemory(link);
        } catch (Throwable error) {
            Failure.of(link, error);
        }
        Runtime.getRuntime().halt(code);
    }

    private void hello() throws IOException {
        Properties client = new Properties();
        // What the client says of itself. The class of its own that reads this file is internal, and moved in 4.4.
        try (InputStream file = ProducerConfig.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            if (file != null) {
                client.load(file);
            }
        }
        Frame frame = new Frame();
        frame.begin(Frame.HELLO).i64(System.nanoTime()).string(System.getProperty("java.version"));
        frame.string(client.getProperty("version", UNKNOWN).trim());
        frame.string(client.getProperty("commitId", UNKNOWN).trim()).end();
        link.write(frame);
    }

    private void read(Input in) throws IOException {
        int length = in.i32();
        if (length < 1 || length > FRAME_BYTES_MAX) {
            throw new IOException("a frame of " + length + " bytes from the worker");
        }
        int kind = in.u8();
        Body body = new Body(in.take(length - 1));
        switch (kind) {
            case TASK:
                begin(new Task(body));
                break;
            case RECORDS:
                senders.get(body.i32()).records(body);
                break;
            case UNTIL:
                senders.get(body.i32()).until(body.i64());
                break;
            case TOKEN:
                Token.renew(body.string());
                break;
            case END:
                end(body.i32());
                break;
            case FLUSH:
                senders.get(body.i32()).flush();
                break;
            case BEGIN:
                fetchers.forEach(Fetcher::begin);
                break;
            case CATCH_UP:
                fetchers.forEach(Fetcher::catchUp);
                break;
            default:
                throw new IOException("a frame of kind " + kind + " from the worker");
        }
    }

    private void begin(Task task) {
        if (Token.isGiven()) {
            task.settings.setProperty("sasl.login.callback.handler.class", Token.class.getName());
            task.settings.putIfAbsent("sasl.jaas.config", LOGIN_MODULE);
        }
        warnOfUnknown(task);
        Settings.tell(link, task);
        List<Client> clients = new ArrayList<>();
        List<Sender> sending = new ArrayList<>();
        List<Fetcher> fetching = new ArrayList<>();
        for (int index = 0; index < task.clientIds.length; index++) {
            if (task.isProducing) {
                sending.add(new Sender(link, task, index));
            } else {
                fetching.add(new Fetcher(link, task, index));
            }
        }
        clients.addAll(sending);
        clients.addAll(fetching);
        senders = sending;
        fetchers = fetching;
        link.serve(clients);
        clients.forEach(Thread::start);
    }

    /** Settings that this client does not know have no effect unless something that it loads reads them. */
    private void warnOfUnknown(Task task) {
        Set<String> known = task.isProducing ? ProducerConfig.configNames() : ConsumerConfig.configNames();
        Set<String> unknown = new TreeSet<>(task.settings.stringPropertyNames());
        unknown.removeAll(known);
        if (!unknown.isEmpty()) {
            link.warn("this client does not know " + String.join(", ", unknown));
        }
    }

    /** Closes all clients and ends the process; the worker's end of the socket is watched meanwhile. */
    private void end(int milliseconds) {
        Thread thread = new Thread(() -> {
            List<Client> clients = new ArrayList<>(senders);
            clients.addAll(fetchers);
            // While their threads are there: of those that have ended nothing newer is known.
            readings.tell();
            clients.forEach(client -> client.close(milliseconds));
            long until = System.nanoTime() + (milliseconds + JOIN_MS) * 1_000_000L;
            try {
                for (Client client : clients) {
                    client.join(Math.max(1, (until - System.nanoTime()) / 1_000_000L));
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            link.collect();
            readings.tell();
            Frame frame = new Frame();
            frame.begin(Frame.ENDED).end();
            link.write(frame);
            System.exit(0);
        }, END_THREAD);
        thread.start();
    }
}
