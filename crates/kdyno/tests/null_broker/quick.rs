//! `kdyno quick`: without a file, and with one of Kafka's own tools.

use crate::NullBroker;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder, ran};
use kdyno_model::plan::Role;
use kdyno_store::RunFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

#[test]
fn quick_needs_no_file() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let args = ["quick", "--bootstrap-server", &broker.address, "--duration", "2s", "--share"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ran(&said);
    let shown = place.kdyno(&["show", "latest", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let figure = |metric: &str| findings.iter().find(|finding| finding["metric"] == metric);
    assert!(figure("acked_per_s").is_some_and(|rate| rate["value"].as_f64() > Some(500.0)), "{findings:?}");
    assert!(figure("unresolved").is_some_and(|count| count["value"] == 0.0), "{findings:?}");
    // A dry run opens no connection, so an address without a listener is no error.
    let dry = ["quick", "--bootstrap-server", "127.0.0.1:1", "--rate", "2k/s", "--dry-run"];
    let said = place.kdyno(&dry);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("2,000/s") && said.stdout.contains("the cluster is not asked"), "{said:?}");
    for (option, value) in [("--rate", "10MB/s"), ("--size", "3s"), ("--duration", "10m")] {
        let said = place.kdyno(&["quick", "--bootstrap-server", &broker.address, option, value]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(option), "{said:?}");
    }
    broker.stop();
}

#[test]
fn a_plan_too_large_for_the_cluster_does_not_wait() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    // Another run has the host, for longer than this test.
    let lock = File::create(place.path().join("lock/kdyno-host.lock")).expect("the host's lock");
    lock.lock().expect("a free host");
    let args = ["quick", "--bootstrap-server", &broker.address, "--replicas", "2", "--wait", "30m"];
    let said = place.start(place.command(&args)).wait(QUICKLY);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("wants 2 replicas, the cluster has 1 broker"), "{said:?}");
    assert!(!said.stderr.contains("waiting for it"), "{said:?}");
    broker.stop();
}

#[test]
fn quick_takes_what_kafkas_own_tools_take() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let config = |text: &str| {
        let text = format!("bootstrap.servers = {}\n{text}", broker.address);
        place.file("client.properties", &text).to_str().expect("plain path").to_owned()
    };
    let quick = |config: &str| {
        let args = ["quick", "--command-config", config, "--duration", "2s", "--share"];
        place.start(place.command(&args)).wait(RUN_DEADLINE)
    };
    let levels = "compression.type=gzip\ncompression.gzip.level=9\ncompression.lz4.level=1\n";
    let application = "value.serializer=io.acme.Avro\nretries=0\nconnections.max.idle.ms=180000\n";
    let said = quick(&config(&format!(
        "linger.ms=\\\n 20\nacks : 1\nclient.id=me\nschema.registry.url=x\n{levels}{application}"
    )));
    // On a host that others keep busy latencies are invalid, which the exit code 6 says.
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
    for note in [
        "`client.id` of `writers` has no effect",
        "`schema.registry.url` is no setting of Kafka's",
        "`compression.lz4.level` of `writers` has no effect",
        "does not take them from the properties: `value.serializer`",
        "warning: `retries` as `0` is not followed",
        "warning: `connections.max.idle.ms` as `180000` is not followed",
    ] {
        assert!(said.stderr.contains(note), "{note}: {said:?}");
    }
    let header = RunFile::open(&place.run_file()).expect("a run file").header().expect("its head");
    let Role::Produce(produce) = &header.plan.cases[0].load["writers"].role else { panic!("it produces") };
    assert_eq!((produce.client.linger_ns, produce.client.acks), (20_000_000, 1));
    assert_eq!(produce.client.level(), Some(("compression.gzip.level", 9)));
    for (text, words) in [
        ("\nlinger.ms=soon\n", "client.properties:3:1: `linger.ms`"),
        ("linger.ms=5\ndelivery.timeout.ms=10\n", "client.properties:3:1: `delivery.timeout.ms` is less"),
        ("compression.zstd.level=23\n", "client.properties:2:1: `compression.zstd.level`"),
        ("ssl.truststore.locaton=x\n", "client.properties:2:1: "),
    ] {
        let said = quick(&config(text));
        assert!(said.code == Some(2) && said.stderr.contains(words), "{words}: {said:?}");
    }
    // What is wrong here is reported before any cluster is contacted: at this address there is none.
    let store = place.file("store.p12", "no store");
    for (text, words) in [
        ("acks=maybe\n".to_owned(), "client.properties:2:1: `acks`"),
        (format!("security.protocol=SSL\nssl.truststore.location={}\n", store.display()), "store.p12"),
    ] {
        let nowhere = format!("bootstrap.servers=127.0.0.1:1\n{text}");
        let said = quick(place.file("client.properties", &nowhere).to_str().expect("plain path"));
        assert!(said.code == Some(2) && said.stderr.contains(words), "{words}: {said:?}");
    }
    let both = config("enable.idempotence=true\n");
    let said = place.kdyno(&["quick", "--command-config", &both, "--acks", "1", "--share"]);
    assert!(said.code == Some(2) && said.stderr.contains("--acks"), "{said:?}");
    broker.stop();
}

#[test]
fn quick_speaks_tls_and_reports_a_listener_that_does_not() {
    let place = TestFolder::new();
    let ((secured, certificate), open) = (NullBroker::start_tls(&place), NullBroker::start(&place));
    let trusted = place.file("authority.pem", &certificate);
    let quick = |broker: &NullBroker<'_>| {
        let text = format!(
            "bootstrap.servers={}\nsecurity.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={}\n",
            broker.address,
            trusted.display()
        );
        let config = place.file("client.properties", &text);
        let config = config.to_str().expect("plain path");
        let args = ["quick", "--command-config", config, "--duration", "2s", "--share"];
        place.start(place.command(&args)).wait(RUN_DEADLINE)
    };
    let said = quick(&secured);
    ran(&said);
    let document = place.show();
    let events = document["events"].as_array().expect("events").iter();
    let agreed: Vec<_> = events.filter(|event| event["kind"] == "secured").collect();
    let detail = agreed.first().and_then(|event| event["detail"].as_str()).unwrap_or_default();
    assert!(detail.starts_with("TLSv1.3 with TLS_AES_"), "{}", document["events"]);
    let subjects: BTreeSet<_> = agreed.iter().map(|event| event["subject"].to_string()).collect();
    assert_eq!(subjects.len(), agreed.len(), "each load item tells it once: {agreed:?}");
    let said = quick(&open);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("its listener is probably PLAINTEXT"), "{said:?}");
    let in_the_open = ["quick", "--bootstrap-server", &secured.address, "--duration", "2s", "--share"];
    let said = place.start(place.command(&in_the_open)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("SSL or SASL_SSL"), "{said:?}");
    secured.stop();
    open.stop();
}

/// Without a truststore the platform's roots are trusted, as Java trusts its cacerts: by the lab and by its workers.
#[test]
fn without_a_truststore_the_roots_of_the_platform_are_trusted() {
    let place = TestFolder::new();
    let (secured, certificate) = NullBroker::start_tls(&place);
    let (other, foreign) = NullBroker::start_tls(&place);
    let config = format!("bootstrap.servers={}\nsecurity.protocol=SSL\n", secured.address);
    let config = place.file("client.properties", &config);
    let quick = |roots: &str| {
        let args = ["quick", "--command-config", config.to_str().expect("plain path"), "--duration", "2s"];
        let mut command = place.command(&[&args[..], &["--share"]].concat());
        command.env("SSL_CERT_FILE", place.file("roots.pem", roots)).env_remove("SSL_CERT_DIR");
        place.start(command).wait(RUN_DEADLINE)
    };
    ran(&quick(&format!("{foreign}{certificate}")));
    for (roots, sentence) in
        [(foreign.as_str(), "is signed with another key"), ("", "is not set, and this host has no")]
    {
        let said = quick(roots);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(
            said.stderr.contains(sentence) && said.stderr.contains("ssl.truststore.location"),
            "{said:?}"
        );
    }
    let plain = place.kdyno(&["quick", "--bootstrap-server", &secured.address]);
    assert_eq!(plain.code, Some(1), "{plain:?}");
    assert!(plain.stderr.contains("hint: --command-config FILE"), "{plain:?}");
    secured.stop();
    other.stop();
}

#[test]
fn a_null_broker_speaks_the_one_given_cipher_suite() {
    let place = TestFolder::new();
    let broker = |cipher: &str| {
        let args = ["null-broker", "--port", "0", "--tls", "1.3", "--cipher", cipher];
        place.start(place.command(&args))
    };
    let mut running = broker("TLS_AES_128_GCM_SHA256");
    let said = running.wait_for_output("-----END CERTIFICATE-----");
    let (address, certificate) = said.split_once('\n').expect("two lines at least");
    let trusted = place.file("authority.pem", certificate);
    let location = format!("ssl.truststore.location={}", trusted.display());
    let load = ["producer-perf-test", "--bootstrap-server", address, "--topic", "t", "--num-records", "500"];
    let more = ["--record-size", "128", "--throughput", "-1", "--command-property", "security.protocol=SSL"];
    let more = [&load[..], &more, &["ssl.truststore.type=PEM", &location]].concat();
    let said = place.start(place.command(&more)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.lines().any(|line| line.starts_with("500 records sent, ")), "{said:?}");
    drop(running);
    let said = broker("TLS_RSA_WITH_NULL_MD5").wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("\"TLS_RSA_WITH_NULL_MD5\" is not supported, only TLS_"), "{said:?}");
}

#[test]
fn quick_asks_under_the_prefix_of_its_topics() {
    let place = TestFolder::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    let running = place.start(place.command(&["quick", "--bootstrap-server", &address]));
    let (mut broker, _) = listener.accept().expect("a client");
    // Length of the request, its kind and version, its number, length of the client id: then the id.
    let mut head = [0; 4 + 2 + 2 + 4 + 2];
    broker.read_exact(&mut head).expect("a request");
    let mut id = vec![0; usize::from(u16::from_be_bytes([head[12], head[13]]))];
    broker.read_exact(&mut id).expect("a client id");
    assert_eq!(String::from_utf8(id).as_deref(), Ok("kdyno-admin"));
    drop((broker, listener));
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(1));
}
