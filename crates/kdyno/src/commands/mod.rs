//! The commands, one file each. Every one returns how the program ends.

mod bench_load;
mod clean;
pub(crate) mod cluster;
mod completions;
mod descriptors;
mod export;
mod fake_broker;
mod inner;
mod later;
mod null_broker;
mod quick;
mod report;
mod rerun;
mod run;
mod runs;
mod scenarios;
mod schema;
mod show;
mod standing;

use crate::cli::{ClusterCommand, Command};
use crate::failure::Outcome;

pub(crate) use fake_broker::FakeBrokerArgs;
pub(crate) use report::write as write_report;

/// Does what was asked for.
pub(crate) fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Quick(args) => quick::quick(&args),
        Command::Rerun(args) => rerun::rerun(&args),
        Command::Scenarios(args) => scenarios::scenarios(&args),
        Command::Runs(args) => runs::runs(&args),
        Command::Show(args) => show::show(&args),
        Command::Export(args) => export::export(&args),
        Command::Report(args) => report::report(&args),
        Command::Up(args) => standing::up(&args),
        Command::Down(args) => standing::down(&args),
        Command::Cluster(ClusterCommand::Up(args)) => cluster::up(&args),
        Command::Cluster(ClusterCommand::List(args)) => cluster::list(&args),
        Command::Cluster(ClusterCommand::Target(args)) => cluster::target(&args),
        Command::Cluster(ClusterCommand::Down(args)) => cluster::down(&args),
        Command::Clean(args) => clean::clean(&args),
        Command::NullBroker(args) => null_broker::null_broker(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Worker => inner::worker(),
        Command::BenchLoad(args) => bench_load::bench_load(&args),
        Command::FakeBroker(args) => fake_broker::fake_broker(&args),
        Command::Guard => inner::guard(),
        Command::GuardExec(args) => inner::guard_exec(&args),
        Command::Compare(_) => later::later("compare"),
        Command::Find(_) => later::later("find"),
    }
}
