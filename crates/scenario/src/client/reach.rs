//! The settings of Kafka's clients that say how a cluster is reached: addresses, `security.*`, `ssl.*`, `sasl.*`. They
//! are in a target's properties file, never in a load item.

use super::known::{ClientKind, JavaType, Other, PCA, SettingEffect, row};
use JavaType::{Boolean, Class, Double, Int, List, Long, Password, Short, Text};
use SettingEffect::{Always, Used, WithoutEffect};

const NO_JAVA: &str = "there is no Java here";
const NO_KERBEROS: &str = "Kerberos is not supported";
const NOT_OVER_HTTP: &str = "tokens are not fetched over HTTP";
const RESOLVED_FIRST: &str = "addresses are looked up before the load begins, and again after failures";
const ASKED_ANEW: &str = "a new token is requested after 70 % of the time that is left to it";
const OWN_CODE: &str =
    "it names code of Java's; see `secrets: {…: {exec: …}}` of the target's `client` for tokens";
const TOKEN_HANDLERS: &[&str] = &[
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
];

/// What becomes of each of them.
pub const REACH: &[Other] = &[
    row("bootstrap.servers", PCA, List, Used),
    row("bootstrap.resolve.timeout.ms", PCA, Long, WithoutEffect(RESOLVED_FIRST)),
    row(
        "bootstrap.controllers",
        &[ClientKind::Admin],
        List,
        Always(&[""], "brokers are asked, not controllers"),
    ),
    row(
        "config.providers",
        PCA,
        List,
        WithoutEffect("`${env:NAME}` and `${file:PATH:NAME}` are read without it"),
    ),
    row("security.protocol", PCA, Text, Used),
    row("security.providers", PCA, Text, WithoutEffect(NO_JAVA)),
    row("ssl.cipher.suites", PCA, List, Used),
    row("ssl.enabled.protocols", PCA, List, Used),
    row("ssl.endpoint.identification.algorithm", PCA, Text, Used),
    row("ssl.engine.factory.class", PCA, Class, Always(&[], "it names code of Java's")),
    row("ssl.key.password", PCA, Password, Used),
    row("ssl.keymanager.algorithm", PCA, Text, WithoutEffect(NO_JAVA)),
    row("ssl.keystore.certificate.chain", PCA, Password, Used),
    row("ssl.keystore.key", PCA, Password, Used),
    row("ssl.keystore.location", PCA, Text, Used),
    row("ssl.keystore.password", PCA, Password, Used),
    row("ssl.keystore.type", PCA, Text, Used),
    row("ssl.protocol", PCA, Text, Used),
    row("ssl.provider", PCA, Text, WithoutEffect(NO_JAVA)),
    row("ssl.secure.random.implementation", PCA, Text, WithoutEffect(NO_JAVA)),
    row("ssl.trustmanager.algorithm", PCA, Text, WithoutEffect(NO_JAVA)),
    row("ssl.truststore.certificates", PCA, Password, Used),
    row("ssl.truststore.location", PCA, Text, Used),
    row("ssl.truststore.password", PCA, Password, Used),
    row("ssl.truststore.type", PCA, Text, Used),
    row("sasl.mechanism", PCA, Text, Used),
    row("sasl.jaas.config", PCA, Password, Used),
    row("sasl.client.callback.handler.class", PCA, Class, Always(&[], OWN_CODE)),
    row("sasl.login.callback.handler.class", PCA, Class, Always(TOKEN_HANDLERS, OWN_CODE)),
    row("sasl.login.class", PCA, Class, Always(&[], OWN_CODE)),
    row("sasl.login.connect.timeout.ms", PCA, Int, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.login.read.timeout.ms", PCA, Int, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.login.retry.backoff.max.ms", PCA, Long, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.login.retry.backoff.ms", PCA, Long, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.login.refresh.buffer.seconds", PCA, Short, WithoutEffect(ASKED_ANEW)),
    row("sasl.login.refresh.min.period.seconds", PCA, Short, WithoutEffect(ASKED_ANEW)),
    row("sasl.login.refresh.window.factor", PCA, Double, WithoutEffect(ASKED_ANEW)),
    row("sasl.login.refresh.window.jitter", PCA, Double, WithoutEffect(ASKED_ANEW)),
    row("sasl.kerberos.kinit.cmd", PCA, Text, WithoutEffect(NO_KERBEROS)),
    row("sasl.kerberos.min.time.before.relogin", PCA, Long, WithoutEffect(NO_KERBEROS)),
    row("sasl.kerberos.service.name", PCA, Text, WithoutEffect(NO_KERBEROS)),
    row("sasl.kerberos.ticket.renew.jitter", PCA, Double, WithoutEffect(NO_KERBEROS)),
    row("sasl.kerberos.ticket.renew.window.factor", PCA, Double, WithoutEffect(NO_KERBEROS)),
    row("sasl.oauthbearer.token.endpoint.url", PCA, Text, Used),
    row("sasl.oauthbearer.allow.unverified.audience", PCA, Boolean, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.allow.unverified.issuer", PCA, Boolean, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.algorithm", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.aud", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.exp.seconds", PCA, Int, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.iss", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.jti.include", PCA, Boolean, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.nbf.seconds", PCA, Int, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.claim.sub", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.file", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.private.key.file", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.private.key.passphrase", PCA, Password, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.assertion.template.file", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.client.credentials.client.id", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.client.credentials.client.secret", PCA, Password, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.clock.skew.seconds", PCA, Int, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.expected.audience", PCA, List, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.expected.issuer", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.header.urlencode", PCA, Boolean, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwks.endpoint.refresh.ms", PCA, Long, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", PCA, Long, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", PCA, Long, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwks.endpoint.url", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwt.retriever.class", PCA, Class, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.jwt.validator.class", PCA, Class, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.scope", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.scope.claim.name", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
    row("sasl.oauthbearer.sub.claim.name", PCA, Text, WithoutEffect(NOT_OVER_HTTP)),
];

/// The setting of a name, where it says how a cluster is reached.
pub fn reach_setting(name: &str) -> Option<&'static Other> {
    // Each provider of configuration has settings of its own.
    let name = if name.starts_with("config.providers.") { "config.providers" } else { name };
    REACH.iter().find(|row| row.name == name)
}
