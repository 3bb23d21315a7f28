//! What is read of brokers' settings.

use crate::*;

#[test]
fn a_brokers_settings_come_from_it_with_unknown_ones_named() {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let addresses = [0, 1].map(|i: usize| listeners[i].local_addr().expect("its address"));
    let ports = addresses.map(|address| i32::from(address.port()));
    for (listener, id) in listeners.into_iter().zip(0..) {
        serve(listener, move |api_key, version| match api_key {
            m18_api_versions::API_KEY => api_versions(version),
            m03_metadata::API_KEY => metadata(version, &ports, 0, 0, &[0]),
            m32_describe_configs::API_KEY if id == 1 => {
                let secret = ("ssl.key.password", None, 9);
                configs(version, &[("num.io.threads", Some("8"), 3), ("num.io.thread", None, 0), secret])
            }
            _ => BrokerReply::Close,
        });
    }
    let mut admin = connect(&[&addresses[0].to_string()], PATIENCE).unwrap();
    let settings = admin.describe_configs(ConfigOf::Broker(1)).unwrap();
    let reported: Vec<_> =
        settings.iter().map(|(name, s)| (name.as_str(), s.value.as_deref(), s.known)).collect();
    let expected = [
        ("num.io.thread", None, false),
        ("num.io.threads", Some("8"), true),
        ("ssl.key.password", None, true),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn the_source_of_a_setting_is_reported() {
    use theirs::describe_configs_response as reply;
    let broker = single(
        |_| (0, vec![0]),
        |_, version| {
            let setting = |source: i8| {
                let setting = reply::DescribeConfigsResourceResult::default();
                setting.with_name(text(&format!("s{source}"))).with_config_source(source)
            };
            let result = reply::DescribeConfigsResult::default().with_configs((0..=7).map(setting).collect());
            let answer = theirs::DescribeConfigsResponse::default().with_results(vec![result]);
            BrokerReply::Body(encoded(&answer, version))
        },
    );
    let settings = connect(&[&broker], PATIENCE).unwrap().describe_configs(ConfigOf::Topic("t")).unwrap();
    use SettingSource::{Default, DynamicBroker, DynamicDefaultBroker, DynamicTopic, Static, Unknown};
    let reported: Vec<SettingSource> = settings.values().map(|setting| setting.source).collect();
    let dynamic = [DynamicTopic, DynamicBroker, DynamicDefaultBroker];
    assert_eq!(reported[1..4], dynamic);
    assert_eq!([&reported[..1], &reported[4..]].concat(), [Unknown, Static, Default, Unknown, Unknown]);
}

#[test]
fn a_broker_too_old_to_tell_is_not_taken_to_know_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    serve(listener, move |api_key, version| match api_key {
        m18_api_versions::API_KEY => api_versions_with(version, (32, 0, 2)),
        m03_metadata::API_KEY => metadata(version, &[i32::from(address.port())], 0, 0, &[0]),
        _ => configs(version, &[("num.io.thread", None, 0)]),
    });
    let mut admin = connect(&[&address.to_string()], PATIENCE).unwrap();
    assert!(admin.describe_configs(ConfigOf::Broker(0)).unwrap()["num.io.thread"].known);
}

#[test]
fn the_default_is_reported_where_a_setting_has_another_value() {
    use theirs::describe_configs_response as reply;
    let broker = single(
        |_| (0, vec![0]),
        |_, version| {
            let synonym = |source: i8, value: &str| {
                let synonym = reply::DescribeConfigsSynonym::default().with_name(text("num.io.threads"));
                synonym.with_value(Some(text(value))).with_source(source)
            };
            let setting = reply::DescribeConfigsResourceResult::default().with_name(text("num.io.threads"));
            let setting = setting.with_value(Some(text("4"))).with_config_source(4);
            let setting = setting.with_synonyms(vec![synonym(4, "4"), synonym(5, "8")]);
            let none =
                reply::DescribeConfigsResourceResult::default().with_name(text("log.dir")).with_value(None);
            let result = reply::DescribeConfigsResult::default().with_configs(vec![setting, none]);
            let answer = theirs::DescribeConfigsResponse::default().with_results(vec![result]);
            BrokerReply::Body(encoded(&answer, version))
        },
    );
    let settings = connect(&[&broker], PATIENCE).unwrap().describe_configs(ConfigOf::Broker(0)).unwrap();
    let reported = |name: &str| (settings[name].value.as_deref(), settings[name].default.as_deref());
    assert_eq!((reported("num.io.threads"), reported("log.dir")), ((Some("4"), Some("8")), (None, None)));
}

#[test]
fn features_have_the_supported_and_the_finalized_levels() {
    use theirs::api_versions_response as reply;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    serve(listener, move |api_key, version| match api_key {
        m18_api_versions::API_KEY => {
            let ranges = [(3, 0, 9), (18, 0, 3)].map(|(key, min, max)| {
                reply::ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max)
            });
            let supported = |name: &str, max: i16| {
                reply::SupportedFeatureKey::default().with_name(text(name)).with_max_version(max)
            };
            let finalized = reply::FinalizedFeatureKey::default().with_name(text("metadata.version"));
            let answer = theirs::ApiVersionsResponse::default().with_api_keys(ranges.to_vec());
            let answer = answer
                .with_supported_features(vec![
                    supported("metadata.version", 27),
                    supported("kraft.version", 1),
                ])
                .with_finalized_features(vec![finalized.with_max_version_level(25)]);
            BrokerReply::Body(encoded(&answer, version))
        }
        _ => metadata(version, &[i32::from(address.port())], 0, 0, &[0]),
    });
    let mut admin = connect(&[&address.to_string()], PATIENCE).unwrap();
    let reported = admin.features(0).unwrap();
    let reported: Vec<_> =
        reported.iter().map(|of| (of.name.as_str(), of.supported_max, of.finalized)).collect();
    assert_eq!(reported, [("kraft.version", Some(1), None), ("metadata.version", Some(27), Some(25))]);
}
