//! The tables of client settings against what kafka-clients 4.4.0 itself reports: `client-settings.tsv` has the name,
//! the type and the clients (producer, consumer, admin) of each entry of its `ConfigDef`s that is not internal.

use kdyno_scenario::client::{
    CONSUMER, ClientKind, JavaType, OTHERS, PRODUCER, REACH, SupportedSetting, other, reach_setting,
    removed_in, since,
};

const KAFKA: &str = include_str!("client-settings.tsv");

/// Name, type and clients.
fn kafka() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    KAFKA.lines().map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().expect("three fields");
        (field(), field(), field())
    })
}

fn acted_on(client: ClientKind) -> &'static [SupportedSetting] {
    match client {
        ClientKind::Producer => PRODUCER,
        ClientKind::Consumer => CONSUMER,
        ClientKind::Admin => &[],
    }
}

fn java_type(name: &str) -> JavaType {
    match name {
        "BOOLEAN" => JavaType::Boolean,
        "INT" => JavaType::Int,
        "LONG" => JavaType::Long,
        "SHORT" => JavaType::Short,
        "DOUBLE" => JavaType::Double,
        "STRING" => JavaType::Text,
        "LIST" => JavaType::List,
        "CLASS" => JavaType::Class,
        "PASSWORD" => JavaType::Password,
        other => panic!("a type that nobody knows: {other}"),
    }
}

#[test]
fn what_becomes_of_each_setting_of_kafkas_clients_is_said_once() {
    assert!(kafka().count() > 100);
    for (name, kind, clients) in kafka() {
        for client in clients.chars() {
            let client = match client {
                'P' => ClientKind::Producer,
                'C' => ClientKind::Consumer,
                _ => ClientKind::Admin,
            };
            let own = acted_on(client).iter().filter(|setting| setting.name == name).count();
            let rows = OTHERS.iter().filter(|row| row.name == name && row.of.contains(&client));
            let reach = REACH.iter().filter(|row| row.name == name && row.of.contains(&client));
            let rows: Vec<_> = rows.chain(reach).collect();
            assert_eq!(own + rows.len(), 1, "{name} of {client:?}");
            for row in rows {
                assert_eq!(row.kind, java_type(kind), "{name}");
            }
        }
    }
}

#[test]
fn no_table_knows_a_setting_that_kafka_does_not() {
    let known = |name: &str| name == "defaults" || kafka().any(|(kafkas, ..)| kafkas == name);
    let names = OTHERS.iter().chain(REACH).map(|row| row.name);
    let names = names.chain(PRODUCER.iter().chain(CONSUMER).map(|setting| setting.name));
    for name in names.filter(|name| removed_in(name).is_none()) {
        assert!(known(name), "{name}");
    }
    assert_eq!((since("retry.backoff.max.ms"), since("acks")), (Some((3, 7)), None));
}

#[test]
fn a_setting_of_a_provider_of_configuration_is_one_of_reaching() {
    assert!(reach_setting("config.providers.env.class").is_some());
    assert!(other(ClientKind::Producer, "ssl.truststore.location").is_none());
}
