package kdyno.driver;

import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.config.types.Password;

/** With which settings the clients of this process run, as Kafka's own classes make them out of what is given. */
final class Settings {
    /** Where a value comes from. */
    private static final int DEFAULT = 0;
    private static final int GIVEN = 1;
    private static final int DERIVED = 2;

    private Settings() {}

    /** Tells the worker those of the first client; the others differ in their names alone. */
    static void tell(Link link, Task task) {
        AbstractConfig config;
        Map<String, Object> defaults;
        Properties given = task.of(0);
        try {
            if (task.isProducing) {
                given.put("key.serializer", ByteArraySerializer.class);
                given.put("value.serializer", ByteArraySerializer.class);
                config = new ProducerConfig(given);
                defaults = ProducerConfig.configDef().defaultValues();
            } else {
                given.put("key.deserializer", ByteArrayDeserializer.class);
                given.put("value.deserializer", ByteArrayDeserializer.class);
                given.putIfAbsent("auto.offset.reset", task.isFromEnd ? "latest" : "earliest");
                config = new ConsumerConfig(given);
                defaults = ConsumerConfig.configDef().defaultValues();
            }
        } catch (KafkaException | LinkageError error) {
            // The client, which is made next, says what is wrong; or it is one that does not tell its defaults.
            return;
        }
        Map<String, String> values = new TreeMap<>();
        for (Map.Entry<String, ?> entry : config.values().entrySet()) {
            Object value = entry.getValue();
            // What is secret is not even told that it is there.
            if (value != null && !(value instanceof Password)) {
                values.put(entry.getKey(), text(value));
            }
        }
        Frame frame = new Frame();
        frame.begin(Frame.SETTINGS).i32(values.size());
        for (Map.Entry<String, String> entry : values.entrySet()) {
            Object usual = defaults.get(entry.getKey());
            String usualText = usual == null || usual instanceof Password ? "" : text(usual);
            int origin = given.containsKey(entry.getKey()) ? GIVEN : usualText.equals(entry.getValue()) ? DEFAULT : DERIVED;
            frame.string(entry.getKey()).u8(origin).string(entry.getValue()).string(usualText);
        }
        frame.end();
        link.write(frame);
    }

    private static String text(Object value) {
        if (value instanceof Class) {
            return ((Class<?>) value).getName();
        }
        if (value instanceof Iterable) {
            StringBuilder text = new StringBuilder();
            for (Object one : (Iterable<?>) value) {
                text.append(text.length() == 0 ? "" : ",").append(text(one));
            }
            return text.toString();
        }
        return String.valueOf(value);
    }
}
