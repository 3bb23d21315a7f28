package kdyno.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A client that polls, and keeps when it had which records. */
final class Fetcher extends Client implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final Duration POLL_BEFORE_BEGIN = Duration.ofMillis(20);
    private static final long ASK_AGAIN_NS = 500_000_000L;
    private static final long LAG_EVERY_NS = 1_000_000_000L;
    /** Records that one frame tells of. */
    private static final int ITEMS_MAX = 1 << 16;
    /** Frames that wait for the worker: then it does not poll. */
    private static final int PENDING_BYTES_MAX = 4 << 20;
    private static final int GAINED = 0;
    private static final int GIVEN_UP = 1;
    private static final int LOST = 2;

    private final Object lock = new Object();
    /** Frames that the worker has not been told, in order. */
    private final Frame pending = new Frame();
    private volatile boolean hasBegun;
    /** Nothing that is polled is kept yet: partitions that come are paused. Of the client's own thread. */
    private boolean isWaiting = true;
    private volatile boolean isToCatchUp;

    private KafkaConsumer<byte[], byte[]> consumer;
    private Lag lag;
    /** What there was of each partition when nothing new came any more; null: to be asked. */
    private Map<TopicPartition, Long> ends;
    /** The ends that were reached at first, and when they are asked for again. */
    private Map<TopicPartition, Long> reached;
    private long askAgainAt;
    private boolean hasCaughtUp;
    private String warned;
    /** Partitions that were assigned before the load and of which it does not know where they begin. */
    private final List<TopicPartition> unplaced = new ArrayList<>();
    private final Frame changes = new Frame();

    Fetcher(Link link, Task task, int index) {
        super(link, task, index);
    }

    void begin() {
        synchronized (lock) {
            hasBegun = true;
            lock.notifyAll();
        }
    }

    void catchUp() {
        isToCatchUp = true;
    }

    @Override
    void close(long milliseconds) {
        synchronized (lock) {
            closeMs = milliseconds;
            lock.notifyAll();
        }
    }

    // Newer clients would have options of closing in the place of a duration.
    @SuppressWarnings("deprecation")
    @Override
    protected void work() throws Exception {
        Properties settings = task.of(index);
        settings.putIfAbsent("auto.offset.reset", task.isFromEnd ? "latest" : "earliest");
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        // A consumer dials with its first call.
        long began = System.nanoTime();
        lag = new Lag(consumer);
        int partitions = partitions();
        if (task.isMember) {
            consumer.subscribe(List.of(task.topic), this);
        } else {
            assign(partitions);
        }
        ready(began, partitions);
        waitForBegin();
        long lagAt = System.nanoTime() + LAG_EVERY_NS;
        while (closeMs < 0) {
            if (task.isEnough()) {
                // Whole polls are told, and what comes after them is neither polled nor committed.
                waitForClose();
                break;
            }
            poll();
            long now = System.nanoTime();
            if (now >= lagAt) {
                lagAt = Math.max(lagAt + LAG_EVERY_NS, now);
                tellLag();
            }
            if (isToCatchUp && !hasCaughtUp && isCaughtUp()) {
                hasCaughtUp = true;
                tellLag();
                keep(new Frame(), Frame.CAUGHT_UP);
            }
        }
        tellMetrics(consumer.metrics());
        consumer.close(Duration.ofMillis(closeMs));
    }

    /** Partition p is client p mod clients'. */
    private void assign(int partitions) {
        List<TopicPartition> own = new ArrayList<>();
        for (int p = task.clientFirst + index; p < partitions; p += task.clientsTotal) {
            own.add(new TopicPartition(task.topic, p));
        }
        consumer.assign(own);
        if (task.isFromEnd) {
            consumer.seekToEnd(own);
        } else {
            consumer.seekToBeginning(own);
        }
        unplaced.addAll(own);
        place();
    }

    /** Finds out where reading begins: a seek to the end is to that of now. */
    private void place() {
        while (!unplaced.isEmpty() && closeMs < 0) {
            try {
                consumer.position(unplaced.get(unplaced.size() - 1));
                unplaced.remove(unplaced.size() - 1);
            } catch (RetriableException error) {
                warn(error);
            }
        }
    }

    private int partitions() throws InterruptedException {
        while (closeMs < 0) {
            try {
                // Older clients have no list of a topic that they do not know.
                List<PartitionInfo> found = consumer.partitionsFor(task.topic);
                if (found != null && !found.isEmpty()) {
                    return found.size();
                }
            } catch (RetriableException error) {
                warn(error);
            }
            Thread.sleep(POLL.toMillis());
        }
        return 0;
    }

    /** Members join meanwhile; nothing is fetched. */
    private void waitForBegin() throws InterruptedException {
        while (task.isMember && !hasBegun && closeMs < 0) {
            try {
                consumer.poll(POLL_BEFORE_BEGIN);
                place();
            } catch (RetriableException error) {
                warn(error);
            }
            keepChanges();
        }
        synchronized (lock) {
            while (!hasBegun && closeMs < 0) {
                lock.wait();
            }
        }
        if (task.isMember) {
            // An error may have left it open where partitions begin.
            place();
            keepChanges();
        }
        isWaiting = false;
        consumer.resume(consumer.paused());
    }

    private void waitForClose() throws InterruptedException {
        synchronized (lock) {
            while (closeMs < 0) {
                lock.wait();
            }
        }
    }

    private void poll() throws InterruptedException {
        try {
            if (consumer.assignment().isEmpty() && !task.isMember) {
                Thread.sleep(POLL.toMillis());
                return;
            }
            ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
            long at = System.nanoTime();
            keepChanges();
            if (!records.isEmpty()) {
                keepRecords(records, at);
                task.handed(records.count());
            }
        } catch (RetriableException error) {
            keepChanges();
            warn(error);
        }
    }

    private void keepRecords(ConsumerRecords<byte[], byte[]> records, long at) throws InterruptedException {
        int left = records.count();
        int room = 0;
        synchronized (lock) {
            while (pending.length() >= PENDING_BYTES_MAX) {
                lock.wait();
            }
            for (ConsumerRecord<byte[], byte[]> record : records) {
                if (room == 0) {
                    room = Math.min(left, ITEMS_MAX);
                    left -= room;
                    pending.begin(Frame.CONSUMED).i32(index).i64(at).i32(room);
                }
                int bytes = Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
                pending.i32(record.partition()).i64(record.offset()).i32(bytes);
                pending.i64(Trailer.intended(record, task.runId));
                room--;
                if (room == 0) {
                    pending.end();
                }
            }
        }
    }

    private void tellLag() {
        Frame frame = new Frame();
        frame.begin(Frame.LAG).i32(index).i64(lag.records());
        frame.end();
        keep(frame);
    }

    private boolean isCaughtUp() {
        try {
            if (ends == null) {
                if (reached != null && System.nanoTime() < askAgainAt) {
                    return false;
                }
                ends = consumer.endOffsets(consumer.assignment());
            }
            for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
                if (consumer.position(end.getKey()) < end.getValue()) {
                    return false;
                }
            }
            // A last transaction may not have ended yet, nor a follower have the last records.
            boolean isStill = ends.equals(reached);
            reached = ends;
            ends = null;
            askAgainAt = System.nanoTime() + ASK_AGAIN_NS;
            return isStill;
        } catch (RetriableException | IllegalStateException error) {
            // The latter: a partition that it has no longer.
            ends = null;
            return false;
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        if (isWaiting) {
            consumer.pause(partitions);
            unplaced.addAll(partitions);
        }
        changed(GAINED, partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        unplaced.removeAll(partitions);
        changed(GIVEN_UP, partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        unplaced.removeAll(partitions);
        changed(LOST, partitions);
    }

    private void changed(int how, Collection<TopicPartition> partitions) {
        // Where reading ends has to be asked anew.
        ends = null;
        reached = null;
        hasCaughtUp = false;
        int generation = consumer.groupMetadata().generationId();
        changes.begin(Frame.ASSIGNMENT).i32(index).i64(System.nanoTime()).u8(how).i32(generation);
        changes.i32(partitions.size());
        for (TopicPartition partition : partitions) {
            changes.i32(partition.partition());
        }
        changes.end();
    }

    /** What changed hands is told before the records that came of it, and once it is known where these begin. */
    private void keepChanges() {
        if (changes.length() > 0 && unplaced.isEmpty()) {
            keep(changes);
            changes.clear();
        }
    }

    private void keep(Frame frame, int kind) {
        frame.begin(kind).i32(index).end();
        keep(frame);
    }

    private void keep(Frame frame) {
        synchronized (lock) {
            pending.append(frame);
        }
    }

    /** Told once in a row. */
    private void warn(RuntimeException error) {
        String text = String.valueOf(error.getMessage());
        if (!text.equals(warned)) {
            warned = text;
            link.warn(named() + ": " + text);
        }
    }

    @Override
    void collect(Frame frames) {
        synchronized (lock) {
            frames.append(pending);
            pending.clear();
            lock.notifyAll();
        }
    }
}
