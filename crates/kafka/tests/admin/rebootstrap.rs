//! A broker that sends the client back to the addresses it was given.

use crate::*;

#[test]
fn a_broker_that_asks_for_it_is_left_for_the_given_addresses() {
    let mut asked = 0;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    serve(listener, move |api_key, version| match api_key {
        m18_api_versions::API_KEY => {
            let metadata = theirs::api_versions_response::ApiVersion::default()
                .with_api_key(m03_metadata::API_KEY)
                .with_max_version(m03_metadata::API.version_max);
            let reply = theirs::ApiVersionsResponse::default().with_api_keys(vec![metadata]);
            BrokerReply::Body(encoded(&reply, version))
        }
        m03_metadata::API_KEY => {
            asked += 1;
            // The second answer sends it away, as it comes back it is welcome.
            let required = theirs::MetadataResponse::default().with_error_code(129);
            match asked {
                2 => BrokerReply::Body(encoded(&required, version)),
                _ => metadata(version, &[i32::from(address.port())], 0, 0, &[0]),
            }
        }
        _ => BrokerReply::Close,
    });
    let mut admin = connect(&[&address.to_string()], PATIENCE).unwrap();
    assert_eq!(admin.cluster().unwrap().brokers.len(), 1);
    assert_eq!(admin.topics(Some(&["t"])).unwrap()[0].partitions.len(), 1);
}
