//! What kdyno's probes read of a busy process and of this host, compared with pidstat, sar and iostat over the same
//! window.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::row::{AccuracyRow, OFF, percent};
use crate::bench::process::Owned;
use crate::bench::setup::Setup;

/// Length of the window.
const SECONDS: u64 = 40;
/// How far two figures may lie apart.
const SHARE_MAX: f64 = 0.02;
/// The busy process has begun by then.
const BEGUN: Duration = Duration::from_secs(2);

/// Figures by name, as one tool reports them.
type ToolFigures = BTreeMap<String, f64>;

/// All of it; a figure that is off is marked.
pub fn run(bench: &Setup) -> anyhow::Result<Vec<AccuracyRow>> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let mut busy = Command::new(&bench.xtask);
    busy.arg("accuracy-busy").arg("--file").arg(folder.path().join("written"));
    let busy = Owned(busy.stdin(Stdio::null()).spawn().context("cannot start the busy process")?);
    std::thread::sleep(BEGUN);
    let pid = busy.0.id().to_string();
    let seconds = SECONDS.to_string();
    let tools = [
        start("pidstat", &["-u", "-d", "-h", "-p", &pid, &seconds, "1"])?,
        start("sar", &["-u", "-n", "TCP", &seconds, "1"])?,
        start("iostat", &["-d", "-k", "-y", "-o", "JSON", &seconds, "1"])?,
    ];
    let kdyno = bench
        .helper("bench-probes")
        .args(["--pid", &pid, "--seconds", &seconds])
        .output()
        .context("cannot start kdyno")?;
    let tools = tools.map(|tool| tool.wait_with_output().context("a tool was lost"));
    let text = |said: &std::process::Output| String::from_utf8_lossy(&said.stdout).into_owned();
    ensure!(kdyno.status.success(), "kdyno: {}", String::from_utf8_lossy(&kdyno.stderr));
    let kdyno = of_kdyno(&text(&kdyno))?;
    let [pidstat, sar, iostat] = tools;
    let mut truth = of_pidstat(&text(&pidstat?))?;
    truth.extend(of_sar(&text(&sar?))?);
    truth.extend(of_iostat(&text(&iostat?))?);
    judged(&truth, &kdyno)
}

fn judged(truth: &ToolFigures, kdyno: &ToolFigures) -> anyhow::Result<Vec<AccuracyRow>> {
    let mut rows = Vec::new();
    let test = format!("a busy process and its host, {SECONDS} s");
    for (name, truth) in truth {
        let Some(ours) = kdyno.get(name) else { continue };
        let says = if *truth == 0.0 && *ours == 0.0 { "+0.0 %".to_owned() } else { percent(*ours, *truth) };
        let is_off = (ours - truth).abs() > SHARE_MAX * truth.abs();
        let says = if is_off { format!("{says} {OFF}") } else { says };
        rows.push(AccuracyRow::new(&test, name, format!("{truth:.2}"), format!("{ours:.2}"), says));
    }
    ensure!(rows.len() >= 6, "only {} figures could be compared", rows.len());
    for row in &rows {
        println!("  {:<44} {:>12} {:>12} {:>8}", row.figure, row.truth, row.kdyno, row.says);
    }
    Ok(rows)
}

fn start(tool: &str, args: &[&str]) -> anyhow::Result<Child> {
    Command::new(tool)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {tool}\nhint: apt-get install sysstat"))
}

/// Ends a process when it goes.
const USER: &str = "process: user CPU, % of a core";
const SYSTEM: &str = "process: system CPU, % of a core";
const READ: &str = "process: disk read, KiB/s";
const WRITTEN: &str = "process: disk written, KiB/s";
const HOST: &str = "host: CPU neither idle nor iowait, %";
const SEGMENTS: &str = "host: TCP segments sent, with lo, per s";

fn of_drive(drive: &str, what: &str) -> String {
    format!("drive {drive}: {what}, KiB/s")
}

fn of_kdyno(text: &str) -> anyhow::Result<ToolFigures> {
    let document: serde_json::Value = serde_json::from_str(text).context("kdyno wrote no JSON")?;
    let per_s = document["per_s"].as_object().context("no figures of kdyno")?;
    let of = |subject: &str, series: &str| {
        per_s.get(&format!("{subject} {series}")).and_then(|value| value.as_f64())
    };
    let process = |series: &str| of("process-watched", series).with_context(|| format!("no {series}"));
    let host = |series: &str| of("host", series).with_context(|| format!("no {series} of the host"));
    let busy = host("cpu_user_s_total")? + host("cpu_system_s_total")? + host("cpu_steal_s_total")?;
    let all = busy + host("cpu_iowait_s_total")? + host("cpu_idle_s_total")?;
    let mut found = ToolFigures::from([
        (USER.to_owned(), 100.0 * process("cpu_user_s_total")?),
        (SYSTEM.to_owned(), 100.0 * process("cpu_system_s_total")?),
        (READ.to_owned(), process("disk_read_bytes_total")? / 1024.0),
        (WRITTEN.to_owned(), process("disk_write_bytes_total")? / 1024.0),
        (HOST.to_owned(), 100.0 * busy / all),
        (SEGMENTS.to_owned(), host("tcp_segments_sent_total")?),
    ]);
    for (name, value) in per_s {
        let kib = value.as_f64().unwrap_or(0.0) / 1024.0;
        for (series, what) in [("disk_read_bytes_total.", "read"), ("disk_write_bytes_total.", "written")] {
            if let Some(drive) = name.strip_prefix("host ").and_then(|name| name.strip_prefix(series)) {
                found.insert(of_drive(drive, what), kib);
            }
        }
    }
    Ok(found)
}

/// A figure by the head of its column, of the first line below heads that has such a one.
fn column(text: &str, head: &str) -> Option<f64> {
    let mut heads: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
        if words.contains(&head) {
            heads = words;
        } else if let Some(at) = heads.iter().position(|one| *one == head) {
            // The time may be of two words, the command at the end too: counted from whichever end the same.
            let of_line = if words.len() == heads.len() { words.get(at) } else { None };
            if let Some(number) = of_line.and_then(|word| word.parse().ok()) {
                return Some(number);
            }
        }
    }
    None
}

fn named(text: &str, heads: &[(&str, &str)]) -> anyhow::Result<ToolFigures> {
    let one = |(name, head): &(&str, &str)| {
        let found = column(text, head).with_context(|| format!("no column {head} in:\n{text}"))?;
        Ok(((*name).to_owned(), found))
    };
    heads.iter().map(one).collect()
}

fn of_pidstat(text: &str) -> anyhow::Result<ToolFigures> {
    named(text, &[(USER, "%usr"), (SYSTEM, "%system"), (READ, "kB_rd/s"), (WRITTEN, "kB_wr/s")])
}

fn of_sar(text: &str) -> anyhow::Result<ToolFigures> {
    let mut found = named(text, &[("idle", "%idle"), ("iowait", "%iowait"), (SEGMENTS, "oseg/s")])?;
    let (idle, iowait) = (found.remove("idle"), found.remove("iowait"));
    found.insert(HOST.to_owned(), 100.0 - idle.unwrap_or(0.0) - iowait.unwrap_or(0.0));
    Ok(found)
}

fn of_iostat(text: &str) -> anyhow::Result<ToolFigures> {
    let document: serde_json::Value = serde_json::from_str(text).context("iostat wrote no JSON")?;
    let drives =
        document["sysstat"]["hosts"][0]["statistics"][0]["disk"].as_array().context("no drives of iostat")?;
    let mut found = ToolFigures::new();
    for drive in drives {
        let Some(name) = drive["disk_device"].as_str() else { continue };
        for (field, what) in [("kB_read/s", "read"), ("kB_wrtn/s", "written")] {
            found.extend(drive[field].as_f64().map(|value| (of_drive(name, what), value)));
        }
    }
    Ok(found)
}

/// Is busy until it is killed: spins, writes to a file and waits for it, reads that from its drive, and sends to itself over
/// loopback.
pub fn busy(file: &std::path::Path) -> anyhow::Result<()> {
    const SPIN: Duration = Duration::from_millis(60);
    const WRITE: u64 = 1 << 20;
    const FILE_MAX: u64 = 64 << 20;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut out = TcpStream::connect(listener.local_addr()?)?;
    let (mut back, _) = listener.accept()?;
    out.set_nodelay(true)?;
    let written = File::options().create(true).truncate(true).read(true).write(true).open(file)?;
    let mut bytes = vec![7u8; WRITE as usize];
    let mut place = 0;
    loop {
        let started = Instant::now();
        while started.elapsed() < SPIN {
            std::hint::spin_loop();
        }
        for _ in 0..200 {
            out.write_all(&[1; 100])?;
            back.read_exact(&mut [0; 100])?;
        }
        written.write_all_at(&bytes, place)?;
        written.sync_data()?;
        // Out of the page cache.
        rustix::fs::fadvise(&written, place, NonZeroU64::new(WRITE), rustix::fs::Advice::DontNeed)?;
        written.read_exact_at(&mut bytes, place)?;
        place = (place + WRITE) % FILE_MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_print_is_read_by_its_heads() {
        let pidstat = "Linux 6.1 (host) \t11/25/26 \t_x86_64_\t(2 CPU)\n\n# Time        UID       PID    %usr %system  %guest   %wait    \
                       %CPU   CPU   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n1764061234     0      4711   61.50    8.25    0.00    \
                       0.10   69.75     1      0.00   9000.50      0.00      12  xtask\n";
        let found = of_pidstat(pidstat).expect("figures");
        assert_eq!((found[USER], found[SYSTEM], found[WRITTEN]), (61.5, 8.25, 9000.5));
        let sar = "Linux\n\n10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n10:00:40        all     \
                   30.00      0.00      5.00      2.00      0.50     62.50\n\n10:00:00     active/s passive/s    iseg/s    \
                   oseg/s\n10:00:40         0.10      0.10    900.00    901.50\n\nAverage:        CPU     %user\n";
        let found = of_sar(sar).expect("figures");
        assert_eq!((found[HOST], found[SEGMENTS]), (35.5, 901.5));
        let iostat = "{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"disk\": [{\"disk_device\": \"vda\", \"tps\": 3, \"kB_read/s\": 0.5, \
                      \"kB_wrtn/s\": 12.25}]}]}]}}";
        assert_eq!(of_iostat(iostat).expect("figures")[&of_drive("vda", "written")], 12.25);
        assert!(of_sar("nothing").is_err() && of_iostat("nothing").is_err());
    }

    #[test]
    fn figures_that_lie_apart_are_marked() {
        let figures = |last: f64| -> ToolFigures {
            let all = (0..6).map(|number| (format!("figure {number}"), 100.0));
            all.chain([("last".to_owned(), last)]).collect()
        };
        let off = |truth: f64, kdyno: f64| -> Vec<String> {
            let rows = judged(&figures(truth), &figures(kdyno)).expect("enough figures");
            assert_eq!(rows.len(), 7);
            rows.into_iter().filter(|row| row.says.ends_with(OFF)).map(|row| row.figure).collect()
        };
        assert_eq!(off(100.0, 101.9), [""; 0]);
        assert_eq!(off(100.0, 102.1), ["last"]);
        assert_eq!(off(0.0, 0.0), [""; 0]);
    }
}
