//! Both ends of `kdyno doctor --measure --network`.

use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, signals};
use kdyno_doctor::{MeasuredNetwork, NetworkRound};
use kdyno_testbed::network_speed::{self, SERVE_TIME_MAX};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Measures the network to the other end, having said what that sends.
pub(super) fn measure(peer: &str, stop: &AtomicBool) -> Result<MeasuredNetwork, Failure> {
    let seconds = network_speed::TIME_MAX.as_secs();
    out::note(&format!(
        "sends as much to {peer} as it takes, and has as much sent back, for about {seconds} s"
    ));
    let Some(rounds) = network_speed::measure(peer, stop)? else {
        return Err(Failure::new(Exit::Interrupted, "interrupted: the network was not measured"));
    };
    let round = |round: network_speed::NetworkRound| NetworkRound {
        sent: (round.sent, round.sending.as_secs_f64()),
        received: (round.received, round.receiving.as_secs_f64()),
        round_trips_ns: nanoseconds(&round.round_trips),
    };
    let rounds: Vec<NetworkRound> = rounds.into_iter().map(round).collect();
    Ok(MeasuredNetwork::of(peer.to_owned(), &rounds))
}

/// Answers until it is interrupted or its time is over. Prints its address first, for scripts that let it take a free port.
pub(super) fn serve(address: SocketAddr) -> CommandResult {
    let stop = signals::stop_flag()?;
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::tool(format!("could not listen on {address}: {error}"))
            .hint("`--serve-network 0` takes a free port of the loopback address")
    })?;
    let address = listener.local_addr().map_err(Failure::tool)?;
    out::text(format!("{address}\n"))?;
    let minutes = SERVE_TIME_MAX.as_secs() / 60;
    out::note(&format!(
        "on the other host: kdyno doctor --measure --network {address} (for {minutes} minutes, or until Ctrl-C)"
    ));
    if !address.ip().is_loopback() {
        out::note(
            "warning: everybody who reaches that address can make it send for some seconds; it asks for no password",
        );
    }
    let served = network_speed::serve(&listener, SERVE_TIME_MAX, &stop, &mut |failed| {
        out::note(&format!("not measured: {failed}"));
    })?;
    let end = if served.is_time_over { format!("its {minutes} minutes are over; ") } else { String::new() };
    out::note(&format!(
        "{end}measurements: {}; connections that came to none: {}",
        served.measured, served.failed
    ));
    Ok(Exit::Done)
}

/// Times as numbers of ns.
pub(super) fn nanoseconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(|time| time.as_nanos() as f64).collect()
}
