package kdyno.driver;

import java.nio.ByteBuffer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * What kdyno's records carry of themselves: run id 8, client 4, partition 4, sequence 8, scheduled send time 8 bytes, at the
 * end of the value or in the last header.
 */
final class Trailer {
    private static final int BYTES = 32;
    private static final int INTENDED_BYTES = 8;
    private static final String HEADER = "kdyno";

    /** In the place of an instant that a record does not tell. */
    static final long UNTOLD = Long.MIN_VALUE;

    private Trailer() {}

    /** Says when a record was intended, ns since 1970. */
    static void stamp(ProducerRecord<byte[], byte[]> record, long intended) {
        byte[] held = held(record.headers(), record.value());
        if (held != null && held.length >= BYTES) {
            ByteBuffer.wrap(held).putLong(held.length - INTENDED_BYTES, intended);
        }
    }

    /** When a record of this run was intended, ns since 1970. */
    static long intended(ConsumerRecord<byte[], byte[]> record, long runId) {
        byte[] held = held(record.headers(), record.value());
        if (held == null || held.length < BYTES) {
            return UNTOLD;
        }
        ByteBuffer bytes = ByteBuffer.wrap(held);
        int begin = held.length - BYTES;
        return bytes.getLong(begin) == runId ? bytes.getLong(begin + BYTES - INTENDED_BYTES) : UNTOLD;
    }

    private static byte[] held(Headers headers, byte[] value) {
        // Values that have a trailer in a header are somebody's own, and may end with anything.
        Header[] all = headers.toArray();
        boolean isInHeader = all.length > 0 && all[all.length - 1].key().equals(HEADER);
        return isInHeader ? all[all.length - 1].value() : value;
    }
}
