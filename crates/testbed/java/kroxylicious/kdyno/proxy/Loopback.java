package kdyno.proxy;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.kroxylicious.proxy.plugin.Plugin;
import io.kroxylicious.proxy.service.ClusterNetworkAddressConfigProvider;
import io.kroxylicious.proxy.service.ClusterNetworkAddressConfigProviderService;
import io.kroxylicious.proxy.service.HostPort;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Addresses of the proxy: a port of 127.0.0.1 that is asked first, and after it one for each broker, which count from 0. */
@Plugin(configType = Loopback.Config.class)
public final class Loopback implements ClusterNetworkAddressConfigProviderService<Loopback.Config> {
    private static final String HOST = "127.0.0.1";

    /**
     * What is configured.
     *
     * @param port the port that is asked first
     * @param brokers how many brokers there are
     */
    public record Config(@JsonProperty(required = true) int port, @JsonProperty(required = true) int brokers) {
    }

    @Override
    public ClusterNetworkAddressConfigProvider build(Config config) {
        return new Addresses(config);
    }

    private record Addresses(Config config) implements ClusterNetworkAddressConfigProvider {
        @Override
        public HostPort getClusterBootstrapAddress() {
            return new HostPort(HOST, config.port());
        }

        @Override
        public HostPort getBrokerAddress(int nodeId) {
            if (nodeId < 0 || nodeId >= config.brokers()) {
                throw new IllegalArgumentException("there is no port for broker " + nodeId);
            }
            return new HostPort(HOST, config.port() + 1 + nodeId);
        }

        @Override
        public Optional<String> getBindAddress() {
            return Optional.of(HOST);
        }

        @Override
        public Set<Integer> getExclusivePorts() {
            Set<Integer> ports = new HashSet<>();
            ports.add(config.port());
            discoveryAddressMap().values().forEach(address -> ports.add(address.port()));
            return ports;
        }

        @Override
        public Map<Integer, HostPort> discoveryAddressMap() {
            Map<Integer, HostPort> addresses = new HashMap<>();
            for (int broker = 0; broker < config.brokers(); broker++) {
                addresses.put(broker, getBrokerAddress(broker));
            }
            return addresses;
        }
    }
}
