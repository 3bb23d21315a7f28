// Kafka's own producer at the instants at which kdyno releases records: what is due goes out every 200 µs.
// Its own tool sleeps for 2 ms at least, and sends what became due meanwhile at once: other arrivals, other batches. Each
// record has a header like kdyno's, which compresses as little.
//
// usage: java -cp CLIENT PacedProducer.java TOPIC RECORDS_PER_SECOND SECONDS VALUES_FILE PROPERTY=VALUE…

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class PacedProducer {
    private static final long TICK_NS = 200_000;

    /** Run, producer and partition, which do not change; number and scheduled send time, which do. */
    private static List<Header> header(long number) {
        ByteBuffer bytes = ByteBuffer.allocate(32).putLong(1).putLong(2).putLong(number).putLong(System.nanoTime());
        return List.of(new RecordHeader("kdyno", bytes.array()));
    }

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[0];
        double perNs = Double.parseDouble(arguments[1]) / 1e9;
        long records = (long) (perNs * 1e9 * Double.parseDouble(arguments[2]));
        List<byte[]> values = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[3]))) {
            values.add(line.getBytes());
        }
        Properties properties = new Properties();
        for (int at = 4; at < arguments.length; at++) {
            String[] property = arguments[at].split("=", 2);
            properties.put(property[0], property[1]);
        }
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            producer.partitionsFor(topic);
            Random random = new Random(1);
            long begin = System.nanoTime();
            long sent = 0;
            for (long tick = 1; sent < records; tick++) {
                long left = begin + tick * TICK_NS - System.nanoTime();
                while (left > 0) {
                    LockSupport.parkNanos(left);
                    left = begin + tick * TICK_NS - System.nanoTime();
                }
                long due = Math.min(records, (long) ((System.nanoTime() - begin) * perNs));
                for (; sent < due; sent++) {
                    byte[] value = values.get(random.nextInt(values.size()));
                    producer.send(new ProducerRecord<>(topic, null, null, null, value, header(sent)));
                }
            }
        }
    }
}
