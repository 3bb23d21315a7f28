package kdyno.driver;

import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A client that sends what it is handed, in order, and keeps the instants of each record. */
final class Sender extends Client {
    /** Records that one frame tells of. */
    private static final int ITEMS_MAX = 1 << 16;
    /** Least time between two instants at which records are released, as of kdyno's own client: else each would wake a thread. */
    private static final long TICK_NS = 200_000;
    private static final Object FLUSH = new Object();
    private static final Object CLOSE = new Object();

    /** Bodies of frames of records, of which the client was read, {@link #FLUSH} and {@link #CLOSE}. */
    private final LinkedBlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    /** t1 and t2 of each record that was taken, in order. */
    private final Longs taken = new Longs();
    /** Number, t6 and reason of each record with an outcome. */
    private final Longs outcomes = new Longs();
    /** What has not been begun with by then is dropped. */
    private volatile long until = Long.MAX_VALUE;

    private KafkaProducer<byte[], byte[]> producer;
    /** Null: it sends without them. */
    private Transactions transactions;
    /** When records were released last. */
    private long released;
    /** When the clock was read last. */
    private long seen = Long.MIN_VALUE;
    private long next;
    /** Of the record that is being handed over: {@code send()} refused it. Only this thread touches it. */
    private boolean isRefused;
    private boolean isSending;

    Sender(Link link, Task task, int index) {
        super(link, task, index);
    }

    void records(Body body) {
        queue.add(body);
    }

    void flush() {
        queue.add(FLUSH);
    }

    void until(long instant) {
        until = instant;
    }

    @Override
    void close(long milliseconds) {
        closeMs = milliseconds;
        queue.add(CLOSE);
    }

    @Override
    protected void work() throws Exception {
        long began = System.nanoTime();
        Properties settings = task.of(index);
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        int partitions = partitions();
        if (task.transactionNs > 0) {
            transactions = new Transactions(producer, this);
            transactions.init(partitions);
        }
        ready(began, partitions);
        Records records = new Records(task.topic);
        while (true) {
            Object item = take();
            if (item == CLOSE) {
                endTransaction();
                tellMetrics(producer.metrics());
                producer.close(Duration.ofMillis(closeMs));
                return;
            }
            if (item == FLUSH) {
                endTransaction();
                // An application that waits for each record has none left to flush.
                if (!task.isSynchronous) {
                    producer.flush();
                }
            } else {
                records.of((Body) item);
                for (ProducerRecord<byte[], byte[]> record = records.next(); record != null; record = records.next()) {
                    endTransactionBefore(records.due());
                    await(records.due());
                    send(record);
                }
            }
        }
    }

    /** The next of the queue. A transaction whose time is over meanwhile is ended. */
    private Object take() throws InterruptedException {
        while (transactions != null) {
            Object item = queue.poll(transactions.left(System.nanoTime()), TimeUnit.NANOSECONDS);
            if (item != null) {
                return item;
            }
            transactions.end();
        }
        return queue.take();
    }

    /** Ends a transaction whose time is over before a record is due. */
    private void endTransactionBefore(long due) {
        if (transactions == null) {
            return;
        }
        long now = System.nanoTime();
        long left = transactions.left(now);
        if (left > Math.max(0, due - now)) {
            return;
        }
        for (; left > 0; left = transactions.left(System.nanoTime())) {
            LockSupport.parkNanos(left);
        }
        transactions.end();
    }

    private void endTransaction() {
        if (transactions != null) {
            transactions.end();
        }
    }

    /** Waits until the topic is known. */
    private int partitions() {
        String told = null;
        while (true) {
            try {
                return producer.partitionsFor(task.topic).size();
            } catch (RetriableException error) {
                if (closeMs >= 0) {
                    return 0;
                }
                if (!String.valueOf(error.getMessage()).equals(told)) {
                    told = String.valueOf(error.getMessage());
                    link.warn(named() + ": " + told);
                }
            }
        }
    }

    /** Waits for the instant of a record, or a tick after the last one that was waited for. */
    private void await(long due) {
        // It costs, and a record that waits behind others is late by what was read for the one before.
        if (due <= seen) {
            return;
        }
        long now = System.nanoTime();
        if (due <= now) {
            return;
        }
        long at = Math.max(due, released + TICK_NS);
        while (now < at) {
            LockSupport.parkNanos(at - now);
            now = System.nanoTime();
        }
        released = now;
    }

    private void send(ProducerRecord<byte[], byte[]> record) throws InterruptedException {
        long number = next++;
        Sent sent = new Sent(number);
        Future<RecordMetadata> future = null;
        isRefused = false;
        long handed = System.nanoTime();
        if (handed >= until) {
            taken.add(0, 0);
            return;
        }
        isSending = true;
        if (task.stamps) {
            Trailer.stamp(record, handed + task.wallOffset);
        }
        try {
            if (transactions != null) {
                transactions.record(handed);
            }
            future = producer.send(record, sent);
        } catch (RuntimeException error) {
            if (!isRefused) {
                refuse(number, error);
            }
        }
        long accepted = System.nanoTime();
        isSending = false;
        seen = accepted;
        taken.add(handed, isRefused ? 0 : accepted);
        if (task.isSynchronous && !isRefused) {
            try {
                future.get();
            } catch (ExecutionException error) {
                // The callback has it.
            }
        }
    }

    private void refuse(long number, Throwable error) {
        isRefused = true;
        if (transactions != null) {
            transactions.refused(error);
        }
        outcomes.add(number, System.nanoTime(), link.reasons.ofRefusal(error));
    }

    /** What a record's callback needs. */
    private final class Sent implements Callback {
        private final long number;

        Sent(long number) {
            this.number = number;
        }

        @Override
        public void onCompletion(RecordMetadata metadata, Exception error) {
            long known = System.nanoTime();
            if (error == null) {
                if (transactions != null) {
                    transactions.acknowledged(metadata);
                }
                outcomes.add(number, known, 0);
            } else if (Thread.currentThread() == Sender.this && isSending) {
                refuse(number, error);
            } else {
                if (transactions != null) {
                    transactions.failed(metadata, error);
                }
                outcomes.add(number, known, link.reasons.ofOutcome(error));
            }
        }
    }

    @Override
    void collect(Frame frames) {
        long[] takenNow = taken.take();
        long[] outcomesNow = outcomes.take();
        int takenCount = taken.taken() / 2;
        int outcomesCount = outcomes.taken() / 3;
        int takenAt = 0;
        int outcomesAt = 0;
        while (takenAt < takenCount || outcomesAt < outcomesCount) {
            int takenEnd = Math.min(takenCount, takenAt + ITEMS_MAX);
            int outcomesEnd = Math.min(outcomesCount, outcomesAt + ITEMS_MAX);
            frames.begin(Frame.OUTCOMES).i32(index).i32(takenEnd - takenAt);
            for (; takenAt < takenEnd; takenAt++) {
                frames.i64(takenNow[2 * takenAt]).i64(takenNow[2 * takenAt + 1]);
            }
            frames.i32(outcomesEnd - outcomesAt);
            for (; outcomesAt < outcomesEnd; outcomesAt++) {
                int at = 3 * outcomesAt;
                frames.i64(outcomesNow[at]).i64(outcomesNow[at + 1]).i16((int) outcomesNow[at + 2]);
            }
            frames.end();
        }
    }
}
