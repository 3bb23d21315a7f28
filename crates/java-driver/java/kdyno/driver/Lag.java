package kdyno.driver;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;

/** Records between a consumer and the end of its logs, as it knows itself: nobody is asked for it. */
final class Lag {
    private static final long UNKNOWN = -1;

    private final KafkaConsumer<byte[], byte[]> consumer;
    /** {@code currentLag}, which clients have from 2.8 on; null: its metrics say it. */
    private final Method currentLag;

    Lag(KafkaConsumer<byte[], byte[]> consumer) {
        this.consumer = consumer;
        Method found = null;
        try {
            found = KafkaConsumer.class.getMethod("currentLag", TopicPartition.class);
        } catch (NoSuchMethodException error) {
            // An older client.
        }
        currentLag = found;
    }

    /** −1: of a partition it does not know where its log ends. */
    long records() {
        Map<String, Double> metrics = currentLag == null ? metrics() : null;
        long sum = 0;
        for (TopicPartition partition : consumer.assignment()) {
            long records = currentLag == null ? of(metrics, partition) : current(partition);
            if (records < 0) {
                return UNKNOWN;
            }
            sum += records;
        }
        return sum;
    }

    private long current(TopicPartition partition) {
        try {
            return ((OptionalLong) currentLag.invoke(consumer, partition)).orElse(UNKNOWN);
        } catch (IllegalAccessException | InvocationTargetException error) {
            return UNKNOWN;
        }
    }

    private static long of(Map<String, Double> metrics, TopicPartition partition) {
        Double records = metrics.get(partition.toString());
        return records == null || records.isNaN() ? UNKNOWN : records.longValue();
    }

    /** By topic and partition. */
    private Map<String, Double> metrics() {
        Map<String, Double> found = new HashMap<>();
        for (Map.Entry<MetricName, ? extends Metric> entry : consumer.metrics().entrySet()) {
            MetricName name = entry.getKey();
            Object value = entry.getValue().metricValue();
            if (name.name().equals("records-lag") && value instanceof Double) {
                found.put(name.tags().get("topic") + "-" + name.tags().get("partition"), (Double) value);
            }
        }
        return found;
    }
}
