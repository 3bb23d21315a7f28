package kdyno.driver;

import java.io.IOException;
import java.io.StringReader;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;

/** What the clients of this process are to do. */
final class Task {
    private static final int PRODUCE = 0;

    final Properties settings = new Properties();
    final String topic;
    /** Number of the first client among all of the load item's, of which there are so many. */
    final int clientFirst;
    final int clientsTotal;
    final String[] clientIds;
    /** Of each {@code group.instance.id} or, producers, {@code transactional.id}; empty where it has none. */
    final String[] ids;
    final boolean isProducing;
    /** Producers: each waits for a record's outcome. */
    final boolean isSynchronous;
    /** Producers: the trailer of a record says t1, with this offset of the wall clock. */
    final boolean stamps;
    final long wallOffset;
    /** Producers: how long a transaction lasts, ns, with which probability it is aborted, and what that is drawn from. 0: they have none. */
    final long transactionNs;
    final double abortShare;
    final long transactionSeed;
    /** Records with which a transaction ends sooner; 0: it holds any number. */
    final long transactionRecords;
    /** Consumers. */
    final boolean isMember;
    final boolean isFromEnd;
    final long runId;
    /** Records that they have yet to be handed, all together; {@link Long#MAX_VALUE}: any number. */
    private final AtomicLong left;

    Task(Body body) throws IOException {
        settings.load(new StringReader(body.string()));
        topic = body.string();
        clientFirst = body.i32();
        clientsTotal = body.i32();
        clientIds = new String[body.i32()];
        ids = new String[clientIds.length];
        for (int i = 0; i < clientIds.length; i++) {
            clientIds[i] = body.string();
            ids[i] = body.string();
        }
        isProducing = body.u8() == PRODUCE;
        boolean first = body.u8() != 0;
        boolean second = body.u8() != 0;
        long number = body.i64();
        isSynchronous = isProducing && first;
        stamps = isProducing && second;
        wallOffset = isProducing ? number : 0;
        isMember = !isProducing && first;
        isFromEnd = !isProducing && second;
        runId = isProducing ? 0 : number;
        transactionNs = isProducing ? body.i64() : 0;
        abortShare = isProducing ? Double.longBitsToDouble(body.i64()) : 0;
        transactionSeed = isProducing ? body.i64() : 0;
        transactionRecords = isProducing ? body.i64() : 0;
        long recordsMax = isProducing ? -1 : body.i64();
        left = new AtomicLong(recordsMax < 0 ? Long.MAX_VALUE : recordsMax);
    }

    /** One of the consumers was handed so many records. */
    void handed(int records) {
        left.addAndGet(-records);
    }

    /** Whether the consumers were handed as many as they are to have. */
    boolean isEnough() {
        return left.get() <= 0;
    }

    /** Settings of one client. */
    Properties of(int index) {
        Properties own = new Properties();
        own.putAll(settings);
        own.setProperty("client.id", clientIds[index]);
        if (!ids[index].isEmpty()) {
            own.setProperty(isProducing ? "transactional.id" : "group.instance.id", ids[index]);
        }
        return own;
    }
}
