//! `flame`: where the CPU time of the send path goes: the worker at its maximum rate against the null broker, its stacks
//! sampled by perf, kept as a flame graph.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::load::BenchLoad;
use super::process::{measured, tail, words};
use super::sender::null_broker;
use super::setup::Setup;

/// Samples per second of CPU time; no divisor of anything that happens at a steady rate.
const SAMPLES_PER_S: &str = "199";
/// What of each stack is kept to be unwound: there are no frame pointers in a release.
const CALL_GRAPH: &str = "dwarf,16384";
/// Follows the names of the kernel's frames.
const KERNEL: &str = "_[k]";

/// The benchmark. Where perf cannot be used it says so.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("perf.data");
    if let Err(why) = record(bench, &recording) {
        println!("  no flame graph, for perf cannot be used: {}", tail(&why).replace('\n', "; "));
        return Ok(());
    }
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-F", "comm,ip,sym,dso", "-i"]).arg(&recording);
    let script = script.output().context("perf is gone")?;
    let stacks = collapsed(&String::from_utf8_lossy(&script.stdout));
    let samples: u64 = stacks.values().sum();
    if samples == 0 {
        println!(
            "  no flame graph, for perf took no samples: {}",
            String::from_utf8_lossy(&script.stderr).trim()
        );
        return Ok(());
    }
    std::fs::create_dir_all(&bench.folder)?;
    let [text, picture] = ["collapsed", "svg"].map(|ending| bench.folder.join(format!("send-path.{ending}")));
    std::fs::write(&text, written(&stacks)).with_context(|| text.display().to_string())?;
    let mut draw = bench.helper("bench-flame");
    draw.args(["--title", "kdyno's send path, maximum rate, null broker: CPU time", "--out"]);
    measured(draw.arg(&picture).arg(&text))?;
    let in_kernel =
        stacks.iter().filter(|(stack, _)| stack.ends_with(KERNEL)).map(|(_, count)| count).sum::<u64>();
    let percent = 100.0 * in_kernel as f64 / samples as f64;
    println!("  {samples} samples, {percent:.0} % of them in the kernel: {}", picture.display());
    Ok(())
}

/// Samples the stacks of a load's processes.
fn record(bench: &Setup, recording: &Path) -> Result<(), String> {
    let broker = null_broker(bench, 6).map_err(|error| format!("{error:#}"))?;
    let seconds = if bench.options.quick { 2 } else { 10 };
    let load = BenchLoad {
        unique: true,
        batch_bytes: 16_384,
        ..BenchLoad::at_max(&broker.first_line, "bench", seconds)
    };
    let load = load.command(bench);
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", SAMPLES_PER_S, "--call-graph", CALL_GRAPH, "-o"]);
    perf.arg(recording).arg("--").arg(load.get_program()).args(load.get_args());
    println!("  {}", words(&perf));
    let ended = perf.output().map_err(|error| format!("it cannot be started ({error})"))?;
    let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    if ended.status.success() { Ok(()) } else { Err(format!("{}: {said}", ended.status)) }
}

/// Stacks by their frames, the thread first, with how often each was seen. `script` is a sample a block: the name of the
/// thread, then a line for each frame from the innermost on, `ADDRESS FUNCTION (FILE)`.
fn collapsed(script: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for block in script.split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.trim().is_empty());
        let Some(thread) = lines.next() else { continue };
        let frames: Vec<String> = lines.filter_map(frame).collect();
        if frames.is_empty() {
            continue;
        }
        let outer = frames.into_iter().rev();
        let whole: Vec<String> = std::iter::once(format!("[{}]", thread.trim())).chain(outer).collect();
        *stacks.entry(whole.join(";")).or_insert(0) += 1;
    }
    stacks
}

fn frame(line: &str) -> Option<String> {
    let (_, of_address) = line.trim().split_once(' ')?;
    let (name, file) = of_address.rsplit_once(" (")?;
    // What the compiler distinguishes two functions of one name by.
    let name = match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    };
    // Between frames.
    let name = name.replace(';', ",");
    let is_kernel = file.starts_with("[kernel") || file.starts_with("[guest.kernel");
    Some(if is_kernel { format!("{name}{KERNEL}") } else { name })
}

fn written(stacks: &BTreeMap<String, u64>) -> String {
    let mut text = String::new();
    for (stack, count) in stacks {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{stack} {count}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "writers \n\
        \tffffffff81a0 _copy_from_iter ([kernel.kallsyms])\n\
        \tffffffff81b0 tcp_sendmsg ([kernel.kallsyms])\n\
        \t  55d0c8f0a1 <std::net::TcpStream as std::io::Write>::write::h0123456789abcdef (/opt/kdyno)\n\
        \t  55d0c8f0b2 kdyno_load::run::<[u8; 32]> (/opt/kdyno)\n\n\
        writers \n\
        \t  55d0c8f0b2 kdyno_load::run::<[u8; 32]> (/opt/kdyno)\n\n\
        kdyno \n\n\
        writers \n\
        \t  55d0c8f0b3 kdyno_load::run::<[u8; 32]> (/opt/kdyno)\n\n";

    #[test]
    fn stacks_of_perf_are_collapsed_from_the_thread_on() {
        let expected = "[writers];kdyno_load::run::<[u8, 32]> 2\n\
            [writers];kdyno_load::run::<[u8, 32]>;<std::net::TcpStream as std::io::Write>::write;\
            tcp_sendmsg_[k];_copy_from_iter_[k] 1\n";
        assert_eq!(written(&collapsed(SCRIPT)), expected);
        assert!(collapsed("").is_empty());
    }
}
