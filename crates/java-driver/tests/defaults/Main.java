package kdyno.driver;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * Says with what a release's clients run where nothing is set, one line each: whose (P of the producer, C of the consumer),
 * the setting's name, its value. Of idempotence the setting does not say enough: a producer is made and looked into. Nothing
 * is sent anywhere.
 */
public final class Main {
    private static final String BYTES = "org.apache.kafka.common.serialization.ByteArray";

    public static void main(String[] args) throws Exception {
        Map<String, Object> producer = client("serializer", "Serializer");
        print("P", new ProducerConfig(producer).values());
        Map<String, Object> consumer = client("deserializer", "Deserializer");
        consumer.put("group.id", "group");
        print("C", new ConsumerConfig(consumer).values());
        System.out.println("idempotent\t\t" + isIdempotent(producer));
        System.exit(0);
    }

    private static Map<String, Object> client(String role, String suffix) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", "127.0.0.1:1");
        settings.put("key." + role, BYTES + suffix);
        settings.put("value." + role, BYTES + suffix);
        return settings;
    }

    private static void print(String whose, Map<String, ?> values) {
        values.forEach((name, value) -> System.out.println(whose + "\t" + name + "\t" + value));
    }

    /** Whether a producer has what keeps ids and sequences. */
    private static boolean isIdempotent(Map<String, Object> settings) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            Field manager = KafkaProducer.class.getDeclaredField("transactionManager");
            manager.setAccessible(true);
            return manager.get(producer) != null;
        }
    }
}
