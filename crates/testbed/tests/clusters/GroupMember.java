import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of Kafka's own client: says what it is assigned, one line for each change, until its input ends. Arguments:
 *  bootstrap, group, topic, and further settings as name=value. */
public class GroupMember {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[1]);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        for (int i = 3; i < args.length; i++)
            settings.put(args[i].substring(0, args[i].indexOf('=')), args[i].substring(args[i].indexOf('=') + 1));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(args[2]));
            String told = "";
            while (System.in.available() == 0) {
                consumer.poll(Duration.ofMillis(100));
                StringBuilder line = new StringBuilder("assigned");
                TreeSet<Integer> partitions = new TreeSet<>();
                for (TopicPartition partition : consumer.assignment())
                    partitions.add(partition.partition());
                partitions.forEach(partition -> line.append(' ').append(partition));
                if (!told.contentEquals(line))
                    System.out.println(told = line.toString());
            }
        }
    }
}
