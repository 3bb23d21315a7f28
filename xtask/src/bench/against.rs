//! `bench --against COMMIT|PROGRAM`: has this checkout lost anything compared with that commit, or with a program that
//! is built?
//!
//! Both programs run in turn, round after round, and a ratio is taken within each round: a machine that grows slower
//! meanwhile does so for both. A loss is what cost more in every single round, and by more than noise.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::contest::{Contest, Shown, UNBOUNDED};
use super::interrupted;
use super::process::measured;
use super::setup::{HELPER, Setup, machine};
use super::stats::{Series, TextTable};
use super::{constant, peers, sender};

/// A cost ratio that lies above this in all rounds is a loss.
const LOSS_RATIO: f64 = 1.03;

/// Fewer rounds lie above it by chance too often: no loss is called.
const ROUNDS_MIN: usize = 3;

/// The benchmarks that measure kdyno alone.
const COMPARED: [&str; 3] = ["sender", "constant", "peers"];

/// One figure of both programs over the rounds.
struct ComparedFigure {
    name: String,
    is_rate: bool,
    base: Series,
    new: Series,
}

impl ComparedFigure {
    /// How many times as much the new program costs, or how many times less it carries, round by round.
    fn cost_ratio(&self) -> Series {
        if self.is_rate { self.base.over(&self.new) } else { self.new.over(&self.base) }
    }

    fn is_loss(&self) -> bool {
        self.base.0.len() >= ROUNDS_MIN && self.cost_ratio().range().0 > LOSS_RATIO
    }
}

/// Measures the setup's program next to `base`, a commit or the path of a program; whether anything was lost.
pub fn run(root: &Path, new: &Setup, base: &str, names: &[String]) -> anyhow::Result<bool> {
    if let Some(unknown) = names.iter().find(|name| !COMPARED.contains(&name.as_str())) {
        bail!("{unknown} is no benchmark that two commits can be compared by\nhint: {}", COMPARED.join(", "));
    }
    interrupted::watch()?;
    println!("{}\nbase: {base}; new: {}", machine(), new.kdyno.display());
    let base = match Path::new(base) {
        program if program.is_file() => new.measuring(program.to_owned()),
        _ => build(root, new, base)?,
    };
    let mut figures = Vec::new();
    for name in COMPARED {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            println!("\n{name}: base and new in turn, rounds: {}", new.options.rounds);
            figures.extend(compared(name, &base, new).with_context(|| format!("{name} could not run"))?);
        }
    }
    print!("\n{}", table(&figures));
    let lost = figures.iter().any(ComparedFigure::is_loss);
    println!("  a loss: the whole range of cost ratios (rates: base ÷ new) lies above {LOSS_RATIO}");
    if new.options.rounds < ROUNDS_MIN {
        println!("  fewer than {ROUNDS_MIN} rounds: no loss is called");
    }
    Ok(lost)
}

/// All rounds of one benchmark. What is sent to is of `new` for both.
fn compared(benchmark: &str, base: &Setup, new: &Setup) -> anyhow::Result<Vec<ComparedFigure>> {
    match benchmark {
        "sender" => {
            let loads = sender::LOADS.map(|(name, ..)| format!("sender, {name}"));
            rounds(&loads, &["µs CPU per record", "acknowledged/s"], base, new, |at, side| {
                let outcome = sender::measure(new, at, side)?;
                Ok(vec![outcome.cpu_us_per_record()?, outcome.number("acked_per_s")?])
            })
        }
        "constant" => {
            let load = [format!("constant, {}/s", constant::RATE_PER_S)];
            let figures = ["schedule delay p50, µs", "schedule delay p99, µs", "share of a core"];
            rounds(&load, &figures, base, new, |_, side| {
                Ok(constant::kdyno(new, side, if new.options.quick { 3 } else { 30 })?.into())
            })
        }
        _ => {
            let load = ["peers, one real broker".to_owned()];
            let mut measure = peers::of_program(new)?;
            let figures = ["records/s", "client µs/record", "broker µs/record"];
            rounds(&load, &figures, base, new, |_, side| measure(side))
        }
    }
}

/// A contest of both programs by some loads: who begins alternates from round to round and from load to load. The more of a
/// figure per second the better; all others are costs.
fn rounds(
    loads: &[String],
    figures: &[&str],
    base: &Setup,
    new: &Setup,
    mut measure: impl FnMut(usize, &Setup) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Vec<ComparedFigure>> {
    let sides =
        loads.iter().flat_map(|load| ["base", "new"].map(|side| (format!("{load}, {side}"), UNBOUNDED)));
    let columns: Vec<_> = figures.iter().map(|figure| (*figure, Shown::Median)).collect();
    let contest = Contest { heading: "", sides: sides.collect(), figures: &columns, group: 2, unmeasured: 0 };
    let measured = contest.rounds(&new.options, |side, _| {
        let values = measure(side / 2, if side % 2 == 1 { new } else { base });
        let values = values.with_context(|| contest.sides[side].0.clone())?;
        for (figure, value) in figures.iter().zip(&values) {
            ensure!(*value > 0.0, "{}: {figure} is {value}", contest.sides[side].0);
        }
        Ok(values)
    })?;
    let figure = |load: usize, at: usize| ComparedFigure {
        name: format!("{}: {}", loads[load], figures[at]),
        is_rate: figures[at].ends_with("/s"),
        base: measured[2 * load][at].clone(),
        new: measured[2 * load + 1][at].clone(),
    };
    let all = (0..loads.len()).flat_map(|load| (0..figures.len()).map(move |at| (load, at)));
    Ok(all.map(|(load, at)| figure(load, at)).collect())
}

fn table(figures: &[ComparedFigure]) -> TextTable {
    let mut table = TextTable::new(&["figure", "base", "new", "cost ratio", "round by round", ""]);
    for figure in figures {
        let decimals = match figure.base.median() {
            value if value < 1.0 => 4,
            value if value < 100.0 => 2,
            _ => 0,
        };
        let ratio = figure.cost_ratio();
        table.row(vec![
            figure.name.clone(),
            figure.base.show(decimals),
            figure.new.show(decimals),
            ratio.show(3),
            ratio.each(2),
            if figure.is_loss() { "loss ✗" } else { "" }.to_owned(),
        ]);
    }
    table
}

/// Builds kdyno as it was at a commit. Its sources are gone afterwards, also when the build fails; what was built
/// stays below target/, so that the next comparison compiles our own crates alone.
fn build(root: &Path, new: &Setup, commit: &str) -> anyhow::Result<Setup> {
    let git = || {
        let mut command = Command::new("git");
        command.args(["-c", "safe.directory=*"]).current_dir(root);
        command
    };
    let id = measured(git().args(["rev-parse", "--verify", "--quiet"]).arg(format!("{commit}^{{commit}}")));
    let id = id.map_err(|_| anyhow::anyhow!("{commit} is no commit of this repository"))?;
    let sources = BaseCheckout { folder: new.folder.join("base-sources"), root: root.to_owned() };
    // Left by a comparison that was killed.
    sources.remove();
    measured(
        git().args(["worktree", "add", "--quiet", "--detach"]).arg(&sources.folder).arg(id.stdout.trim()),
    )?;
    println!("building kdyno as of {commit}");
    let target = new.folder.join("base-target");
    let kdyno = target.join("release/kdyno");
    // One that an earlier comparison built would drive the worker of a commit that has its own.
    let _ = std::fs::remove_file(kdyno.with_file_name(HELPER));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--release", "--locked", "--workspace", "--bin", "kdyno"]);
    if sources.folder.join("crates/bench").is_dir() {
        build.args(["--bin", HELPER]);
    }
    measured(build.arg("--target-dir").arg(&target).current_dir(&sources.folder))?;
    Ok(new.measuring(kdyno))
}

/// A checkout that ends with this value.
struct BaseCheckout {
    folder: PathBuf,
    root: PathBuf,
}

impl BaseCheckout {
    /// Removes the checkout and Git's note of it, as far as they are there.
    fn remove(&self) {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "worktree", "remove", "--force"]).arg(&self.folder);
        // Both fail where there is nothing to remove.
        let _ = measured(git.current_dir(&self.root));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for BaseCheckout {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup::BenchOptions;
    use super::*;

    fn setup(name: &str, rounds: usize) -> Setup {
        Setup {
            xtask: PathBuf::new(),
            kdyno: PathBuf::from(name),
            helper: None,
            folder: PathBuf::new(),
            options: BenchOptions { quick: true, rounds },
        }
    }

    fn figure(is_rate: bool, base: &[f64], new: &[f64]) -> ComparedFigure {
        let series = |values: &[f64]| Series(values.to_vec());
        ComparedFigure { name: "x".to_owned(), is_rate, base: series(base), new: series(new) }
    }

    #[test]
    fn a_loss_is_what_costs_more_in_every_round() {
        assert!(figure(false, &[1.0, 1.0, 1.0], &[1.04, 1.1, 1.05]).is_loss());
        assert!(!figure(false, &[1.0, 1.0, 1.0], &[1.02, 1.9, 1.9]).is_loss(), "one round speaks against it");
        assert!(!figure(false, &[1.0, 1.0, 1.0], &[0.5, 0.5, 0.5]).is_loss());
        assert!(figure(true, &[100.0, 100.0, 100.0], &[90.0, 95.0, 80.0]).is_loss());
        assert!(!figure(true, &[90.0, 95.0, 80.0], &[100.0, 100.0, 100.0]).is_loss());
        assert!(!figure(false, &[1.0], &[2.0]).is_loss(), "one round says nothing");
    }

    #[test]
    fn both_sides_take_turns_and_meet_in_each_round() {
        let mut order = String::new();
        let mut drift = 1.0;
        let loads = ["one", "two"].map(str::to_owned);
        let (base, new) = (setup("b", 4), setup("n", 4));
        let figures = rounds(&loads, &["s", "records/s"], &base, &new, |load, side| {
            order.push_str(&format!("{}{load} ", side.kdyno.display()));
            drift += 0.001;
            let cost = if side.kdyno == Path::new("n") { 2.0 } else { 1.0 };
            Ok(vec![cost * drift, 10.0])
        });
        let figures = figures.expect("it runs");
        assert_eq!(order, "b0 n0 n1 b1 n0 b0 b1 n1 b0 n0 n1 b1 n0 b0 b1 n1 ");
        let (lowest, highest) = figures[0].cost_ratio().range();
        assert!(lowest > 1.99 && highest < 2.01 && figures[0].is_loss(), "{lowest} {highest}");
        assert!(figures[1].is_rate && !figures[1].is_loss());
        let text = table(&figures).to_string();
        assert!(text.contains("two: records/s") && text.matches("loss ✗").count() == 2, "{text}");
    }

    #[test]
    fn a_figure_that_was_not_measured_is_an_error() {
        let (base, new) = (setup("b", 1), setup("n", 1));
        let error = rounds(&["load".to_owned()], &["s"], &base, &new, |_, _| Ok(vec![f64::NAN])).err();
        assert_eq!(error.expect("no figure").to_string(), "load, base: s is NaN");
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let error = run(Path::new("."), &setup("n", 1), "HEAD", &["floor".to_owned()])
            .expect_err("no figure of kdyno");
        assert!(error.to_string().contains("hint: sender, constant, peers"), "{error}");
    }
}
