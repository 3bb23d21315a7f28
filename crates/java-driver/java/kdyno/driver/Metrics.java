package kdyno.driver;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/** What a client counts of itself, laid out as Kafka's tools do with {@code --print-metrics}. */
final class Metrics {
    private Metrics() {}

    static String text(Map<MetricName, ? extends Metric> metrics) {
        Map<String, Object> sorted = new TreeMap<>();
        int width = 0;
        for (Metric metric : metrics.values()) {
            MetricName name = metric.metricName();
            String shown = name.group() + ":" + name.name() + ":" + name.tags();
            width = Math.max(width, shown.length());
            sorted.put(shown, metric.metricValue());
        }
        if (sorted.isEmpty()) {
            return "";
        }
        StringBuilder text = new StringBuilder();
        text.append(padded("Metric Name", width)).append("   Value\n");
        for (Map.Entry<String, Object> entry : sorted.entrySet()) {
            Object value = entry.getValue();
            String shown = value instanceof Double ? String.format("%.3f", value) : String.valueOf(value);
            text.append(padded(entry.getKey(), width)).append(" : ").append(shown).append('\n');
        }
        return text.toString();
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
