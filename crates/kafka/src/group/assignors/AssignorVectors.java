import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.*;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.*;

/** Writes vectors.txt: what Java's assignors make of random groups. From the folder of a Kafka release:
 *  java -cp 'libs/*' AssignorVectors.java > vectors.txt */
public class AssignorVectors {
    static final Random random = new Random(20261123);
    static final String[] TOPICS = {"a", "b", "c.d", "e-f"};

    record Member(String id, String instance, int generation, List<String> topics, List<TopicPartition> owned) {}

    public static void main(String[] args) {
        System.out.println("# Made by AssignorVectors.java with kafka-clients "
            + org.apache.kafka.common.utils.AppInfoParser.getVersion() + ".");
        for (int group = 0; group < 40; group++)
            group(group);
    }

    /** A group that changes: members come, go, change their topics, and fall behind; partitions are added. */
    static void group(int number) {
        boolean isMixed = number % 2 == 1;
        boolean isOld = number % 5 == 4; // no generation in the subscription, as before ConsumerProtocol 2
        int sizeMax = number % 10 >= 8 ? 30 : 6;
        Map<String, Integer> counts = new TreeMap<>();
        for (String topic : TOPICS)
            if (counts.isEmpty() || random.nextInt(3) > 0)
                counts.put(topic, 1 + random.nextInt(sizeMax > 6 ? 12 : 7));
        List<Member> members = new ArrayList<>();
        Assignor assignor = Assignor.values()[random.nextBoolean() ? 2 : 3];
        for (int generation = 1; generation <= 4; generation++) {
            members.removeIf(member -> random.nextInt(6) == 0);
            int joining = random.nextInt(sizeMax / 2) + (members.isEmpty() ? 1 : 0);
            for (int i = 0; i < joining; i++)
                members.add(new Member("m-" + Integer.toHexString(random.nextInt(1 << 20)),
                    random.nextInt(5) == 0 ? "i" + random.nextInt(1000) : null, -1, topics(counts, isMixed), List.of()));
            if (isMixed)
                members.replaceAll(m -> random.nextInt(5) > 0 ? m
                    : new Member(m.id, m.instance, m.generation, topics(counts, true), m.owned));
            if (random.nextInt(4) == 0)
                counts.replaceAll((topic, count) -> count + random.nextInt(2));
            Collections.shuffle(members, random);
            Map<String, List<TopicPartition>> next = tell(counts, members, isOld, assignor);
            int now = generation;
            // Some do not hear of the new generation, so that two may claim one partition.
            members.replaceAll(m -> random.nextInt(8) == 0 ? m
                : new Member(m.id, m.instance, now, m.topics, next.get(m.id)));
        }
        if (number == 0)
            wire(members.get(0));
    }

    static List<String> topics(Map<String, Integer> counts, boolean isMixed) {
        List<String> all = new ArrayList<>(counts.keySet());
        if (!isMixed)
            return all;
        Collections.shuffle(all, random);
        return new ArrayList<>(new TreeSet<>(all.subList(0, 1 + random.nextInt(all.size()))));
    }

    enum Assignor {
        RANGE, ROUNDROBIN, STICKY, COOPERATIVE;

        ConsumerPartitionAssignor make() {
            return switch (this) {
                case RANGE -> new RangeAssignor();
                case ROUNDROBIN -> new RoundRobinAssignor();
                case STICKY -> new StickyAssignor();
                case COOPERATIVE -> new CooperativeStickyAssignor();
            };
        }
    }

    /** Tells a case, and returns what this assignor gives. */
    static Map<String, List<TopicPartition>> tell(Map<String, Integer> counts, List<Member> members, boolean isOld,
                                                  Assignor chosen) {
        System.out.println("case" + (isOld ? " old" : ""));
        StringBuilder line = new StringBuilder("counts");
        counts.forEach((topic, count) -> line.append(' ').append(topic).append('=').append(count));
        System.out.println(line);
        for (Member m : members)
            System.out.println("member " + m.id + " " + (m.instance == null ? "-" : m.instance) + " " + m.generation
                + " " + String.join(",", m.topics) + " " + list(m.owned));
        Map<String, List<TopicPartition>> result = null;
        for (Assignor assignor : Assignor.values()) {
            Map<String, List<TopicPartition>> assigned = assign(counts, members, isOld, assignor);
            StringBuilder told = new StringBuilder(assignor.make().name());
            for (Member m : members)
                told.append(' ').append(list(assigned.get(m.id)));
            System.out.println(told);
            if (assignor == chosen)
                result = assigned;
        }
        return result;
    }

    static Map<String, List<TopicPartition>> assign(Map<String, Integer> counts, List<Member> members, boolean isOld,
                                                    Assignor assignor) {
        Map<String, Subscription> subscriptions = new HashMap<>(); // as ConsumerCoordinator has them
        for (Member m : members) {
            Subscription subscription = subscription(m, isOld, assignor);
            subscription.setGroupInstanceId(Optional.ofNullable(m.instance));
            subscriptions.put(m.id, subscription);
        }
        Map<String, List<TopicPartition>> assigned = new HashMap<>();
        assignor.make().assign(cluster(counts), new GroupSubscription(subscriptions)).groupAssignment()
            .forEach((id, assignment) -> assigned.put(id, assignment.partitions()));
        return assigned;
    }

    static Subscription subscription(Member m, boolean isOld, Assignor assignor) {
        ConsumerPartitionAssignor own = assignor.make();
        if (m.generation >= 0)
            own.onAssignment(new Assignment(m.owned), new ConsumerGroupMetadata("g", m.generation, m.id, Optional.empty()));
        ByteBuffer data = own.subscriptionUserData(new HashSet<>(m.topics));
        List<TopicPartition> owned = assignor == Assignor.COOPERATIVE ? m.owned : List.of();
        return new Subscription(m.topics, data, owned, isOld ? -1 : m.generation, Optional.empty());
    }

    static Cluster cluster(Map<String, Integer> counts) {
        List<PartitionInfo> partitions = new ArrayList<>();
        counts.forEach((topic, count) -> {
            for (int i = 0; i < count; i++)
                partitions.add(new PartitionInfo(topic, i, Node.noNode(), new Node[0], new Node[0]));
        });
        return new Cluster("c", List.of(), partitions, Set.of(), Set.of());
    }

    static String list(List<TopicPartition> partitions) {
        List<TopicPartition> sorted = new ArrayList<>(partitions);
        sorted.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
        StringJoiner joined = new StringJoiner(",");
        sorted.forEach(tp -> joined.add(tp.topic() + "/" + tp.partition()));
        return sorted.isEmpty() ? "-" : joined.toString();
    }

    /** Bytes of one member's subscription in every version, of its assignment, and of its user data. */
    static void wire(Member m) {
        System.out.println("wire " + m.generation + " " + String.join(",", m.topics) + " " + list(m.owned));
        Subscription told = new Subscription(m.topics, ByteBuffer.wrap(new byte[] {1, 2}), m.owned, m.generation,
            Optional.of("rack"));
        for (short version = 0; version <= 3; version++)
            System.out.println("subscription " + hex(ConsumerProtocol.serializeSubscription(told, version)));
        System.out.println("assignment " + hex(ConsumerProtocol.serializeAssignment(new Assignment(m.owned))));
        System.out.println("sticky-data " + hex(subscription(m, false, Assignor.STICKY).userData()));
        System.out.println("cooperative-data " + hex(subscription(m, false, Assignor.COOPERATIVE).userData()));
    }

    static String hex(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return HexFormat.of().formatHex(copy);
    }
}
