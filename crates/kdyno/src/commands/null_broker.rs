//! `kdyno null-broker`: the ceiling of a load generator, measured against a broker that does nothing.

use super::descriptors;
use crate::cli::{NullBrokerArgs, TlsChoice};
use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, signals};
use kdyno_kafka::security::tls::TlsVersion;
use kdyno_kafka_server::null_broker::{
    FetchAnswer, NullBrokerOptions, NullBrokerStats, NullBrokerTls, serve, serve_tls,
};
use kdyno_model::units::bytes;
use std::net::{Ipv4Addr, TcpListener};

/// Serves until it is interrupted. Prints its address first, for scripts that let it take a free port.
pub(crate) fn null_broker(args: &NullBrokerArgs) -> CommandResult {
    descriptors::allow_all();
    let stop = signals::stop_flag()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|e| {
        Failure::tool(format!("could not listen on 127.0.0.1:{}: {e}", args.port))
            .hint("--port 0 takes a free port")
    })?;
    let address = listener.local_addr().map_err(Failure::tool)?;
    let tls = args.tls.map(versions).map(|versions| {
        // Before it makes a key.
        kdyno_credentials::close_memory();
        NullBrokerTls::new(versions, &args.cipher)
    });
    let tls = tls.transpose().map_err(Failure::usage)?;
    let certificate = tls.as_ref().map_or("", |tls| tls.certificate_pem.as_str());
    out::text(format!("{address}\n{certificate}"))?;
    let fetch = match args.fetch_batch {
        Some(records) => FetchAnswer::Batch { records, value_bytes: args.fetch_value },
        None => FetchAnswer::Empty,
    };
    let options = NullBrokerOptions { partitions: args.partitions, fetch };
    let served = match tls {
        None => serve(listener, options, stop),
        Some(tls) => serve_tls(listener, options, tls, stop),
    };
    let stats = served.map_err(|e| Failure::tool(format!("the null broker failed: {e}")))?;
    out::note(&summary(&stats));
    Ok(Exit::Done)
}

fn versions(choice: TlsChoice) -> &'static [TlsVersion] {
    match choice {
        TlsChoice::Any => &[TlsVersion::Tls12, TlsVersion::Tls13],
        TlsChoice::Tls12 => &[TlsVersion::Tls12],
        TlsChoice::Tls13 => &[TlsVersion::Tls13],
    }
}

/// What it saw, in one line.
fn summary(stats: &NullBrokerStats) -> String {
    let last = stats.last_error.as_ref().map(|error| format!(", the last: {error}")).unwrap_or_default();
    format!(
        "{} connections, {} requests, {} records in {} taken, {} records given, {} errors{last}",
        stats.connections,
        stats.requests,
        stats.records,
        bytes(stats.received_bytes as f64),
        stats.fetched_records,
        stats.errors,
    )
}
