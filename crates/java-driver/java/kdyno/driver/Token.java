package kdyno.driver;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensions;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/** Logs in by OAUTHBEARER with the newest token that the worker has given. */
public final class Token implements AuthenticateCallbackHandler {
    /** Options of the login module that begin like this are SASL extensions. */
    private static final String EXTENSION = "extension_";
    /** How long a token is used that does not say how long it is good. */
    private static final long LIFETIME_MS = 600_000;
    private static final Pattern EXPIRY = Pattern.compile("\"exp\"\\s*:\\s*([0-9]{1,12})");
    private static final Pattern SUBJECT = Pattern.compile("\"sub\"\\s*:\\s*\"([^\"\\\\]*)\"");

    private static volatile String newest;

    private Map<String, String> extensions = Map.of();

    /** Logins use this one from now on. */
    static void renew(String token) {
        newest = token;
    }

    /** Whether the worker has given one. */
    static boolean isGiven() {
        return newest != null;
    }

    @Override
    public void configure(Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
        Map<String, String> found = new HashMap<>();
        for (AppConfigurationEntry entry : entries) {
            for (Map.Entry<String, ?> option : entry.getOptions().entrySet()) {
                if (option.getKey().startsWith(EXTENSION)) {
                    found.put(option.getKey().substring(EXTENSION.length()), String.valueOf(option.getValue()));
                }
            }
        }
        extensions = found;
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerTokenCallback) {
                ((OAuthBearerTokenCallback) callback).token(new Bearer(newest));
            } else if (callback instanceof SaslExtensionsCallback) {
                ((SaslExtensionsCallback) callback).extensions(new SaslExtensions(extensions));
            } else {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    @Override
    public void close() {}

    /** A token, of which a JSON Web Token says whose it is and how long it is good. */
    private static final class Bearer implements OAuthBearerToken {
        private final String value;
        private final long began = System.currentTimeMillis();
        private final long ends;
        private final String principal;

        Bearer(String value) {
            this.value = value;
            String claims = claims(value);
            Matcher expiry = EXPIRY.matcher(claims);
            ends = expiry.find() ? Long.parseLong(expiry.group(1)) * 1_000 : began + LIFETIME_MS;
            Matcher subject = SUBJECT.matcher(claims);
            principal = subject.find() && !subject.group(1).isEmpty() ? subject.group(1) : "kdyno";
        }

        private static String claims(String token) {
            String[] parts = token.split("\\.");
            try {
                return parts.length < 2 ? "" : new String(Base64.getUrlDecoder().decode(parts[1]), StandardCharsets.UTF_8);
            } catch (IllegalArgumentException error) {
                return "";
            }
        }

        @Override
        public String value() {
            return value;
        }

        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return ends;
        }

        @Override
        public String principalName() {
            return principal;
        }

        @Override
        public Long startTimeMs() {
            return began;
        }
    }
}
