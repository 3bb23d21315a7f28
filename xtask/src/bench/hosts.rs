//! `hosts`: what agents on many hosts cost the lab that they report to. Agents and workers are real and all on this host; many
//! load items with a small load make the lab's rows, and its cost does not depend on the load. What a second takes is the
//! difference of a long run and a short one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::process::{Background, children_rss_max_bytes, measured_or, words};
use super::sender::null_broker;
use super::setup::Setup;

/// A figure of the load may be invalid where this host cannot carry it; the lab's cost is none of these.
const INVALID: i32 = 6;

const MIB: f64 = 1_048_576.0;

/// Hosts, load items that each of them has a stream of, seconds of the two runs.
struct Scale {
    agents: usize,
    items: usize,
    seconds: [u32; 2],
}

const FULL: Scale = Scale { agents: 100, items: 60, seconds: [20, 80] };
const QUICK: Scale = Scale { agents: 4, items: 10, seconds: [3, 6] };

/// The benchmark.
pub fn run(bench: &Setup) -> anyhow::Result<()> {
    let Scale { agents, items, seconds } = if bench.options.quick { QUICK } else { FULL };
    fs::create_dir_all(&bench.folder)?;
    let folder = tempfile::Builder::new().prefix("hosts-").tempdir_in(&bench.folder)?;
    let folder = folder.path();
    let broker = null_broker(bench, 6)?;
    let identity = |at: usize| folder.join(format!("gen-{at}"));
    let agent = |at: usize| {
        let mut command = Command::new(&bench.kdyno);
        command.args(["agent", "--listen", "127.0.0.1:0", "--identity"]).arg(identity(at));
        Background::start(&mut command)
    };
    let running = (0..agents).map(agent).collect::<anyhow::Result<Vec<_>>>()?;
    let host = |(at, agent): (usize, &Background)| {
        let (address, folder) = (&agent.first_line, identity(at));
        let folder = folder.display();
        format!(
            "- {{name: gen-{at}, connect: '{address}', certificate: '{folder}/certificate.pem', token: {{file: '{folder}/token'}}}}\n"
        )
    };
    let hosts: String = running.iter().enumerate().map(host).collect();
    fs::write(folder.join("generators.yaml"), format!("hosts:\n{hosts}"))?;
    fs::write(folder.join("hosts.yaml"), scenario(agents, items))?;
    let target = folder.join("target.yaml");
    fs::write(&target, target_of(&broker.first_line))?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600))?;
    let [short, long] = [measure(bench, folder, seconds[0])?, measure(bench, folder, seconds[1])?];
    let more_s = f64::from(seconds[1] - seconds[0]);
    let cpu = (long.cpu_s - short.cpu_s) / more_s;
    let bytes = (long.file_bytes - short.file_bytes) / more_s;
    println!("  {agents} hosts × {items} streams: {cpu:.3} of a CPU for the lab while the load runs");
    println!("  run file: {:.0} bytes per second of a worker", bytes / agents as f64);
    println!("  lab with its analysis: at most {:.0} MiB resident", children_rss_max_bytes()? / MIB);
    Ok(())
}

/// What a run took.
struct Taken {
    cpu_s: f64,
    file_bytes: f64,
}

fn measure(bench: &Setup, folder: &Path, seconds: u32) -> anyhow::Result<Taken> {
    let out = folder.join(format!("runs-{seconds}"));
    let mut kdyno = Command::new(&bench.kdyno);
    kdyno.arg("run").arg(folder.join("hosts.yaml")).arg("--target").arg(folder.join("target.yaml"));
    kdyno.arg("--generators").arg(folder.join("generators.yaml")).arg("--out").arg(&out);
    kdyno.args(["--set", &format!("dur={seconds}s"), "--yes", "--no-progress"]);
    println!("  {}", words(&kdyno));
    let cpu_s = measured_or(&mut kdyno, &[INVALID])?.cpu_s;
    let mut file_bytes = 0.0;
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|ending| ending == "kdyno") {
            file_bytes += entry.metadata()?.len() as f64;
        }
    }
    Ok(Taken { cpu_s, file_bytes })
}

/// One record per second and stream.
fn scenario(agents: usize, items: usize) -> String {
    let item =
        |at: usize| format!("  w{at}: {{produce: perf, clients: {agents}, rate: {agents}/s, value: 100B}}\n");
    let items: String = (0..items).map(item).collect();
    format!(
        "kdyno: 1\nid: hosts\nquestion: What do many hosts cost the lab?\nparams: {{dur: 10s}}\n\
         topics:\n  perf: {{partitions: 6, replicas: 1}}\nload:\n{items}\
         phases: {{warmup: 1s, measure: $dur, drain: 5s}}\nshow: {{columns: [w0.acked_per_s]}}\n"
    )
}

fn target_of(bootstrap: &str) -> String {
    format!(
        "kdyno: 1\ntarget: null\ncluster_id: kdyno-null-broker\nclient: {{bootstrap: [\"{bootstrap}\"]}}\n\
         guard: {{prefix: kdyno-, caps: {{produce: 100MiB/s}}}}\n"
    )
}
