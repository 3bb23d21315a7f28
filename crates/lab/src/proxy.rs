//! The proxy between clients and brokers: fetched before anything starts, and asked, once it listens, whether who comes to it is
//! led through it.

use crate::clock::monotonic_ns;
use crate::error::LabError;
use crate::options::RunProgress;
use kdyno_kafka::admin::{Access, BrokerInfo};
use kdyno_model::plan::{ComponentKind, Plan, ProxyPlan};
use kdyno_testbed::{Environment, kroxylicious};
use std::cell::RefCell;
use std::time::Duration;

/// Between two questions to one that does not answer as it should yet.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(5);
/// As what it is asked.
const CLIENT_ID: &str = "kdyno-proxy-check";

/// The releases of Kroxylicious that a plan's cases have.
pub(crate) fn releases(plan: &Plan) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for component in plan.every_case().flat_map(|case| &case.components) {
        if let ComponentKind::Proxy(ProxyPlan::Kroxylicious(version)) = &component.kind
            && !found.contains(&version.as_str())
        {
            found.push(version);
        }
    }
    found
}

/// Fetches what the plan's proxies are started from.
///
/// # Errors
/// It cannot be had.
pub(crate) fn make_ready(
    plan: &Plan,
    environment: &Environment,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<(), LabError> {
    let progress = RefCell::new(progress);
    let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
    for version in releases(plan) {
        kroxylicious::provide(environment, version, &tell)?;
    }
    Ok(())
}

/// Waits until the proxy at an address advertises all brokers, and none at an address of its own.
///
/// # Errors
/// It advertises a broker's own address, `gone` says why waiting is of no use, or the time is over: one lowercase
/// clause.
pub(crate) fn wait_led_through(
    brokers: &Access,
    address: &str,
    until_ns: u64,
    gone: &dyn Fn() -> Option<String>,
) -> Result<(), String> {
    let ask = |access: &Access| access.admin(CLIENT_ID, ANSWER).and_then(|mut admin| admin.cluster());
    let own = ask(brokers).map_err(|error| format!("the brokers do not report their addresses: {error}"))?;
    let proxy = Access { bootstrap: vec![address.to_owned()], security: brokers.security.clone() };
    loop {
        let wrong = match ask(&proxy) {
            Ok(reported) => {
                if let Some(broker) = past(&own.brokers, &reported.brokers) {
                    return Err(format!(
                        "its metadata says that broker {} is at {}:{}, where that broker itself listens: records would go past the \
                         proxy, which does not put its own addresses into metadata",
                        broker.id, broker.host, broker.port
                    ));
                }
                let (some, all) = (reported.brokers.len(), own.brokers.len());
                if some >= all {
                    return Ok(());
                }
                format!("it returns {some} of {all} brokers")
            }
            Err(error) => error.to_string(),
        };
        if let Some(why) = gone() {
            return Err(format!("{why}; its last metadata: {wrong}"));
        }
        if monotonic_ns() > until_ns {
            return Err(format!("it does not lead to the brokers: {wrong}"));
        }
        std::thread::sleep(LOOK);
    }
}

/// The first broker that is advertised at the address where a broker itself listens.
fn past<'t>(own: &[BrokerInfo], reported: &'t [BrokerInfo]) -> Option<&'t BrokerInfo> {
    let is_own = |broker: &&BrokerInfo| own.iter().any(|own| address(own) == address(broker));
    reported.iter().find(is_own)
}

/// Host and port; the loopback address that brokers listen on by one name. Linux connects to it where none is given.
fn address(broker: &BrokerInfo) -> (&str, i32) {
    let is_it = ["localhost", "0.0.0.0"].contains(&broker.host.as_str());
    (if is_it { "127.0.0.1" } else { &broker.host }, broker.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka_server::null_broker::{NullBrokerOptions, serve};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn brokers(of: &[(i32, &str, i32)]) -> Vec<BrokerInfo> {
        let one = |(id, host, port): &(i32, &str, i32)| BrokerInfo {
            id: *id,
            host: (*host).to_owned(),
            port: *port,
            rack: None,
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn a_broker_advertised_at_its_own_address_is_past_the_proxy() {
        let own = brokers(&[(0, "127.0.0.1", 1), (1, "127.0.0.1", 2)]);
        let past = |reported: &[(i32, &str, i32)]| past(&own, &brokers(reported)).map(|broker| broker.id);
        assert_eq!(past(&[(0, "127.0.0.1", 8), (1, "127.0.0.1", 9)]), None);
        assert_eq!(past(&[(0, "127.0.0.1", 8), (1, "127.0.0.1", 2)]), Some(1));
        for another in ["localhost", "0.0.0.0"] {
            assert_eq!(past(&[(0, another, 1)]), Some(0), "another name of the same: {another}");
        }
        assert_eq!(past(&[(0, "127.0.0.2", 1)]), None, "another address of this host");
        assert_eq!(past(&[]), None);
    }

    /// Two that each advertise an address of their own: one plays the brokers, the other a proxy before them.
    #[test]
    fn a_proxy_that_leads_nowhere_or_past_itself_is_recognized() {
        let stop = Arc::new(AtomicBool::new(false));
        let serving = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address").to_string();
            let stopped = Arc::clone(&stop);
            let serves = move || serve(listener, NullBrokerOptions::default(), stopped);
            (address, std::thread::spawn(serves))
        });
        let [brokers, proxy] = [&serving[0].0, &serving[1].0];
        let access = Access::plaintext(vec![brokers.clone()]);
        let led = |address: &str, gone: Option<&str>| {
            wait_led_through(&access, address, 0, &|| gone.map(str::to_owned))
        };
        assert_eq!(led(proxy, None), Ok(()));
        let past = led(brokers, None).expect_err("it tells the brokers' own address");
        assert!(
            past.contains(&format!("broker 0 is at {brokers}, where that broker itself listens")),
            "{past}"
        );
        let unused = TcpListener::bind("127.0.0.1:0").and_then(|held| held.local_addr()).expect("a port");
        let nowhere = led(&unused.to_string(), None).expect_err("nobody listens");
        assert!(nowhere.starts_with("it does not lead to the brokers: "), "{nowhere}");
        let ended = led(&unused.to_string(), Some("it ended: exit code 1")).expect_err("it ended");
        assert!(ended.starts_with("it ended: exit code 1; its last metadata"), "{ended}");
        stop.store(true, Ordering::Relaxed);
        for (_, served) in serving {
            served.join().expect("no panic").expect("a broker that serves");
        }
    }
}
