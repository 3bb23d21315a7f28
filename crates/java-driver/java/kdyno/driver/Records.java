package kdyno.driver;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;

/** Makes records of frames, one by one. */
final class Records {
    private final String topic;
    private Body body;
    private int left;
    private long due;
    /** All records of a load item have the same partition, if any, and headers of the same names. */
    private Integer partition;
    private final List<String> names = new ArrayList<>();
    private final List<byte[]> encodedNames = new ArrayList<>();

    Records(String topic) {
        this.topic = topic;
    }

    /** The records of this frame are next. */
    void of(Body frame) {
        body = frame;
        left = frame.i32();
    }

    /** Null where the frame has no more. */
    ProducerRecord<byte[], byte[]> next() {
        if (left == 0) {
            return null;
        }
        left--;
        due = body.i64();
        int number = body.i32();
        if (number >= 0 && (partition == null || partition != number)) {
            partition = number;
        }
        byte[] key = body.bytes();
        byte[] value = body.bytes();
        int count = body.u8();
        List<Header> headers = null;
        if (count > 0) {
            headers = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                headers.add(new Named(name(i), body.bytes()));
            }
        }
        return new ProducerRecord<>(topic, number < 0 ? null : partition, null, key, value, headers);
    }

    /** When the record that came last is due; 0: at once. */
    long due() {
        return due;
    }

    private String name(int at) {
        boolean isKnown = at < names.size();
        String before = isKnown ? names.get(at) : null;
        String name = body.string(before, isKnown ? encodedNames.get(at) : null);
        if (!isKnown) {
            names.add(name);
            encodedNames.add(name.getBytes(StandardCharsets.UTF_8));
        }
        return name;
    }

    private static final class Named implements Header {
        private final String name;
        private final byte[] value;

        Named(String name, byte[] value) {
            this.name = name;
            this.value = value;
        }

        @Override
        public String key() {
            return name;
        }

        @Override
        public byte[] value() {
            return value;
        }
    }
}
