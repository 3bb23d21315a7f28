package kdyno.driver;

import java.util.BitSet;
import java.util.SplittableRandom;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * The transactions of one producer: each begins with the first record behind the one before it, and ends so long later, or with so
 * many records. Whoever calls waits until the coordinator has answered, as every application does.
 */
final class Transactions {
    private static final int COMMITTED = 0;
    private static final int ABORTED = 1;
    private static final int FAILED = 2;

    private final KafkaProducer<byte[], byte[]> producer;
    private final Client client;
    private final SplittableRandom random;
    private boolean isOpen;
    /** When the open one ends. */
    private long ends;
    /** Records of the open one. */
    private long records;
    /** Partitions of the topic. */
    private int partitions;
    /** Those with an acknowledged record, where the end of the transaction leaves a marker; callbacks run on another thread. */
    private final BitSet sure = new BitSet();
    /** Those with a record that failed: whether they were added to the transaction is not known. */
    private final BitSet unsure = new BitSet();
    /** Why a record of the open one failed, the first that did. */
    private Throwable failure;

    Transactions(KafkaProducer<byte[], byte[]> producer, Client client) {
        this.producer = producer;
        this.client = client;
        random = new SplittableRandom(client.task.transactionSeed + client.index);
    }

    /** Asks for id and epoch. */
    void init(int partitionsOfTopic) {
        partitions = partitionsOfTopic;
        patiently(producer::initTransactions);
    }

    /** How long the open one lasts yet, ns, not below 0; {@link Long#MAX_VALUE}: none is open. */
    long left(long now) {
        if (!isOpen) {
            return Long.MAX_VALUE;
        }
        long most = client.task.transactionRecords;
        boolean isFull = most > 0 && records >= most;
        return isFull ? 0 : Math.max(0, ends - now);
    }

    /** A record is handed over. */
    void record(long now) {
        if (!isOpen) {
            producer.beginTransaction();
            isOpen = true;
            ends = now + client.task.transactionNs;
            records = 0;
        }
        records++;
    }

    /** A record was acknowledged. */
    synchronized void acknowledged(RecordMetadata metadata) {
        sure.set(metadata.partition());
    }

    /** A record that had been accepted failed; older clients do not say of which partition. */
    synchronized void failed(RecordMetadata metadata, Throwable error) {
        refused(error);
        if (metadata != null && metadata.partition() >= 0) {
            unsure.set(metadata.partition());
        } else {
            unsure.set(0, partitions);
        }
    }

    /** A record was not accepted: it is in no partition. */
    synchronized void refused(Throwable error) {
        failure = failure == null ? error : failure;
    }

    /** Ends the open one, if one is, and tells the worker how. */
    void end() {
        if (!isOpen) {
            return;
        }
        boolean isCommit = random.nextDouble() >= client.task.abortShare;
        long asked = System.nanoTime();
        int kind = isCommit ? COMMITTED : ABORTED;
        String why = "";
        try {
            if (isCommit) {
                patiently(producer::commitTransaction);
            } else {
                // As kdyno's own client: what waits is sent before.
                producer.flush();
                patiently(producer::abortTransaction);
            }
        } catch (KafkaException error) {
            // One that cannot be aborted ends the process: who was fenced sends nothing any more.
            patiently(producer::abortTransaction);
            kind = FAILED;
            why = error.getMessage();
        }
        isOpen = false;
        tell(asked, kind, why);
    }

    private synchronized void tell(long asked, int kind, String why) {
        boolean hasFailed = kind == FAILED || (kind == ABORTED && failure != null);
        String reason = failure == null ? String.valueOf(why) : Reasons.name(failure);
        unsure.andNot(sure);
        Frame frame = new Frame();
        frame.begin(Frame.TRANSACTION).i32(client.index).i64(asked).i64(System.nanoTime());
        frame.u8(hasFailed ? FAILED : kind).i32(sure.cardinality()).i32(unsure.cardinality());
        frame.string(hasFailed ? reason : "").end();
        sure.clear();
        unsure.clear();
        failure = null;
        // What it holds of records is told before.
        client.link.collect();
        client.link.write(frame);
    }

    /** A call that may be made again where it took longer than max.block.ms, until the client is to close. */
    private void patiently(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException error) {
                if (client.closeMs >= 0) {
                    throw error;
                }
            }
        }
    }
}
