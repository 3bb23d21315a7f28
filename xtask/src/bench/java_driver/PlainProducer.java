// An application with Kafka's own producer, and nothing else: it makes records and sends them, all that are due every 200 µs as
// kdyno's clients do, or one after the other. Each second it says how many these were. A record that fails ends it.
//
// usage: java -cp CLIENT PlainProducer TOPIC RECORDS_PER_SECOND|max SECONDS VALUE_BYTES PROPERTY=VALUE…

import java.util.Properties;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class PlainProducer {
    private static final long TICK_NS = 200_000;
    private static final long SECOND_NS = 1_000_000_000;
    /** At most so many at once, then it looks at the clock. */
    private static final int RECORDS = 100;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[0];
        double perNs = arguments[1].equals("max") ? Double.POSITIVE_INFINITY : Double.parseDouble(arguments[1]) / 1e9;
        long loadNs = (long) (Double.parseDouble(arguments[2]) * 1e9);
        byte[] value = new byte[Integer.parseInt(arguments[3])];
        new Random(1).nextBytes(value);
        Properties properties = new Properties();
        for (int at = 4; at < arguments.length; at++) {
            String[] property = arguments[at].split("=", 2);
            properties.put(property[0], property[1]);
        }
        Callback ending = (record, error) -> {
            if (error != null) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        };
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
            producer.partitionsFor(topic);
            long begin = System.nanoTime();
            long sent = 0;
            long told = 0;
            long tell = begin + SECOND_NS;
            for (long now = begin; now - begin < loadNs; now = System.nanoTime()) {
                long due = (long) ((now - begin) * perNs);
                for (long end = Math.min(due, sent + RECORDS); sent < end; sent++) {
                    producer.send(new ProducerRecord<>(topic, value.clone()), ending);
                }
                if (now >= tell) {
                    tell += SECOND_NS;
                    System.out.println((sent - told) + " records sent");
                    told = sent;
                }
                if (sent == due) {
                    long next = now + TICK_NS;
                    for (long left = next - System.nanoTime(); left > 0; left = next - System.nanoTime()) {
                        LockSupport.parkNanos(left);
                    }
                }
            }
        }
    }
}
