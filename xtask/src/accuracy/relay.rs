//! The relay between two zones: how late it passes bytes on, compared with a bare sleep loop that runs at the same
//! time, and with the same path without it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::row::{AccuracyRow, times};
use crate::bench::process::{Owned, cpu_so_far_s, words};
use crate::bench::setup::Setup;
use crate::bench::sleeper::{now_ns, sleep_until};

/// Length of each stream.
const SECONDS: u64 = 10;
/// What is sent at once, with the instant in its first bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// The rate at which the relay is judged, bytes/s.
const FULL_BYTES_PER_S: u64 = 200_000_000;
const DELAY_NS: u64 = 500_000;
/// How long the relay may take to listen.
const LISTENS: Duration = Duration::from_secs(5);
/// The bare loop's distance between two instants, µs.
const TICK_US: u64 = 500;

/// The test.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let mut rows = Vec::new();
    let full = (FULL_BYTES_PER_S as f64 / CHUNK_BYTES as f64) as u64;
    for (name, delay_ns, rate_per_s, bytes) in [
        ("200 messages/s of 100 B", DELAY_NS, 200, 100),
        ("200 MB/s", DELAY_NS, full, CHUNK_BYTES),
        ("200 MB/s", 4 * DELAY_NS, full, CHUNK_BYTES),
    ] {
        let stream = MessageStream { rate_per_s, bytes };
        let direct = measured(stream, None)?;
        let relay = RelayProcess::start(bench, delay_ns)?;
        println!("  {} & {} messages/s of {bytes} B", words(&relay.command), rate_per_s);
        let cpu_before_s = cpu_so_far_s(relay.child.0.id())?;
        let mut sleep = Command::new(&bench.xtask);
        sleep.args(["bench-sleep", "--tick-us", &TICK_US.to_string()]);
        sleep.args(["--rate", &(1_000_000 / TICK_US).to_string(), "--seconds", &SECONDS.to_string()]);
        println!("  beside: {}", words(&sleep));
        let sleep = sleep.stdout(Stdio::piped()).spawn().context("cannot start the bare sleep loop")?;
        let over = measured(stream, Some(&relay))?;
        let cpu_s = cpu_so_far_s(relay.child.0.id())? - cpu_before_s;
        let slept = sleep.wait_with_output().context("the bare sleep loop was lost")?;
        let slept: Value = serde_json::from_slice(&slept.stdout).context("it printed no JSON")?;
        let own = relay.errors_ns(bench)?;
        let test = format!("relay, delay {} ms, {name}", delay_ns as f64 / 1e6);
        let us = |ns: f64| format!("{:.0}", ns / 1e3);
        for (place, quantile) in ["p50", "p99"].into_iter().enumerate() {
            let bare_ns = slept["schedule_delay_ns"][quantile].as_f64().context("no quantile")?;
            let figure = format!("delay error {quantile}, µs (a bare sleep loop next to it)");
            rows.push(AccuracyRow::new(
                &test,
                &figure,
                us(bare_ns),
                us(own[place]),
                times(own[place], bare_ns),
            ));
            let whole_ns = over.late_ns[place] - delay_ns as f64;
            let path = format!("whole path − delay {quantile}, µs (without the relay)");
            rows.push(AccuracyRow::new(
                &test,
                &path,
                us(direct.late_ns[place]),
                us(whole_ns),
                format!("{:+.0} µs", (whole_ns - direct.late_ns[place]) / 1e3),
            ));
        }
        if bytes == CHUNK_BYTES {
            rows.push(carried(&test, &direct, &over));
            let gb = over.bytes / 1e9;
            let cost = format!("{:.2} CPU-s/GB", cpu_s / gb);
            rows.push(AccuracyRow::new(
                &test,
                "the relay's own cost",
                "0".to_owned(),
                cost,
                format!("{gb:.1} GB"),
            ));
        }
    }
    rows.push(fastest(bench)?);
    Ok(rows)
}

/// As fast as it goes, with and without.
fn fastest(bench: &Setup) -> anyhow::Result<AccuracyRow> {
    let stream = MessageStream { rate_per_s: u64::MAX, bytes: CHUNK_BYTES };
    let direct = measured(stream, None)?;
    let relay = RelayProcess::start(bench, DELAY_NS)?;
    let over = measured(stream, Some(&relay))?;
    Ok(carried("relay, as fast as it goes", &direct, &over))
}

fn carried(test: &str, direct: &RelayResult, over: &RelayResult) -> AccuracyRow {
    let [without, with] = [direct, over].map(|result| format!("{:.0}", result.bytes_per_s / 1e6));
    AccuracyRow::new(test, "MB/s carried", without, with, times(over.bytes_per_s, direct.bytes_per_s))
}

/// So many messages per second of so many bytes.
#[derive(Clone, Copy)]
struct MessageStream {
    rate_per_s: u64,
    bytes: usize,
}

/// What came of one.
struct RelayResult {
    /// From sending to having read it whole: p50 and p99.
    late_ns: [f64; 2],
    bytes: f64,
    bytes_per_s: f64,
}

/// Sends and receives for [`SECONDS`], directly or over a relay.
fn measured(stream: MessageStream, relay: Option<&RelayProcess>) -> anyhow::Result<RelayResult> {
    let (out, back) = match relay {
        None => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let out = TcpStream::connect(listener.local_addr()?)?;
            (out, listener.accept()?.0)
        }
        Some(relay) => {
            let out = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port))?;
            (out, relay.server.accept()?.0)
        }
    };
    out.set_nodelay(true)?;
    let sender = std::thread::spawn(move || send(stream, out));
    let received = receive(stream.bytes, back);
    sender.join().map_err(|_| anyhow::anyhow!("the sender panicked"))?.context("sending failed")?;
    received
}

fn send(stream: MessageStream, mut out: TcpStream) -> std::io::Result<()> {
    let mut chunk = vec![7; stream.bytes];
    let begin_ns = now_ns();
    for index in 0u64.. {
        let due_ns = begin_ns
            + u64::try_from(u128::from(index) * 1_000_000_000 / u128::from(stream.rate_per_s)).unwrap_or(0);
        if now_ns().max(due_ns) > begin_ns + SECONDS * 1_000_000_000 {
            break;
        }
        if now_ns() < due_ns {
            sleep_until(due_ns);
        }
        chunk[..8].copy_from_slice(&now_ns().to_be_bytes());
        out.write_all(&chunk)?;
    }
    Ok(())
}

fn receive(bytes: usize, mut back: TcpStream) -> anyhow::Result<RelayResult> {
    let mut chunk = vec![0; bytes];
    let mut late_ns: Vec<u64> = Vec::new();
    let begin = Instant::now();
    while let Ok(()) = back.read_exact(&mut chunk) {
        let sent_ns = u64::from_be_bytes(chunk[..8].try_into()?);
        late_ns.push(now_ns().saturating_sub(sent_ns));
    }
    let took_s = begin.elapsed().as_secs_f64();
    ensure!(late_ns.len() >= 100, "only {} messages arrived", late_ns.len());
    late_ns.sort_unstable();
    let quantile = |share: f64| late_ns[((late_ns.len() - 1) as f64 * share) as usize] as f64;
    let all = late_ns.len() as f64 * bytes as f64;
    Ok(RelayResult { late_ns: [quantile(0.5), quantile(0.99)], bytes: all, bytes_per_s: all / took_s })
}

/// A relay of kdyno's, ended with this value.
struct RelayProcess {
    child: Owned,
    command: Command,
    port: u16,
    server: TcpListener,
    tally: PathBuf,
    _folder: tempfile::TempDir,
}

impl RelayProcess {
    fn start(bench: &Setup, delay_ns: u64) -> anyhow::Result<RelayProcess> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let tally = folder.path().join("tally");
        let entry = json!({"listen": port, "to": server.local_addr()?.port(), "from": 0});
        let spec = json!({"links": [{"link": {"delay_ns": delay_ns}, "entries": [entry]}], "tally": &tally, "seed": 1});
        let file = folder.path().join("relay.json");
        std::fs::write(&file, spec.to_string())?;
        let mut command = Command::new(&bench.kdyno);
        command.arg("relay").arg(&file).stdin(Stdio::null());
        let child = Owned(command.spawn().context("cannot start kdyno")?);
        let relay = RelayProcess { child, command, port, server, tally, _folder: folder };
        relay.wait_until_it_listens()?;
        Ok(relay)
    }

    /// One connection to see that it listens, which ends at once.
    fn wait_until_it_listens(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            ensure!(begin.elapsed() < LISTENS, "the relay does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.server.accept()?;
        Ok(())
    }

    /// How late it was by its own account, p50 and p99, as kdyno reads what it wrote.
    fn errors_ns(&self, bench: &Setup) -> anyhow::Result<[f64; 2]> {
        let reported = bench.helper("bench-tally").arg(&self.tally).output()?;
        let reported: Value =
            serde_json::from_slice(&reported.stdout).context("kdyno-bench printed no JSON")?;
        let of = |quantile: &str| reported["late_ns"][quantile].as_f64().context("no quantile of the relay");
        Ok([of("p50")?, of("p99")?])
    }
}
