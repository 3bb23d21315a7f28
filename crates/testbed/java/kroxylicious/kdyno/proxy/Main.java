package kdyno.proxy;

import io.kroxylicious.proxy.KafkaProxy;
import io.kroxylicious.proxy.config.ConfigParser;
import io.kroxylicious.proxy.config.Configuration;
import io.kroxylicious.proxy.internal.config.Features;
import java.nio.file.Files;
import java.nio.file.Path;

/** Starts Kroxylicious with the configuration in the file that is named, and waits. See docs/design/proxy.md. */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) {
        try {
            ConfigParser parser = new ConfigParser();
            Configuration configuration = parser.parseConfiguration(Files.readString(Path.of(arguments[0])));
            try (KafkaProxy proxy = new KafkaProxy(parser, configuration, Features.defaultFeatures())) {
                proxy.startup();
                proxy.block();
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            // Threads of the event loops may be left.
            System.exit(1);
        }
    }
}
