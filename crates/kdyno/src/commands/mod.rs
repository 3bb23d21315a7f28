//! The commands, one file each. Every one returns how the program ends.

mod agent;
mod clean;
mod cluster;
mod compare;
mod completions;
mod consumer_perf_test;
mod descriptors;
mod doctor;
mod doctor_network;
mod doctor_observed;
mod drop_in_driver;
pub(crate) mod export;
mod export_parquet;
mod export_stacks;
mod find;
mod import;
mod init;
mod inner;
mod kubernetes;
mod lab;
mod manual;
mod null_broker;
mod omb;
mod producer_perf_test;
mod publish;
mod quick;
mod report;
mod rerun;
mod resume;
mod run;
pub(crate) mod runs;
mod scenarios;
mod schema;
mod serve;
pub(crate) mod show;
pub(crate) mod stored_runs;
mod target;
mod typed_cluster;
mod typed_secrets;
mod up;
mod written_scenario;

use crate::cli::{ClusterCommand, Command, TargetCommand, VERSION};
use crate::environment::fill_in_cluster;
use crate::execution::execute;
use crate::failure::{CommandResult, Exit};
use crate::out;

/// Runs the command.
pub(crate) fn dispatch(command: Command) -> CommandResult {
    match command {
        Command::Run(args) if args.serve => serve::after(execute(run::plan(&args)?, &args.execution)?, &args),
        Command::Run(args) => run::carry_out(run::plan(&args)?, args.choices.dry_run, &args.execution),
        Command::Compare(args) => compare::compare(&args),
        Command::Find(args) => run::carry_out(find::plan(&args)?, args.choices.dry_run, &args.execution),
        Command::ConsumerPerfTest(args) => consumer_perf_test::consumer_perf_test(&args.args),
        Command::Init(args) => init::init(&args),
        Command::Quick(mut args) => {
            fill_in_cluster(&mut args.bootstrap_server, &mut args.command_config)?;
            run::carry_out(quick::plan(&args)?, args.dry_run, &args.execution)
        }
        Command::Omb(args) => omb::omb(*args),
        Command::ProducerPerfTest(args) => producer_perf_test::producer_perf_test(&args.args),
        Command::Rerun(args) => run::carry_out(rerun::plan(&args)?, args.dry_run, &args.execution),
        Command::Scenarios(args) => scenarios::scenarios(&args),
        Command::Runs(args) => runs::runs(&args),
        Command::Show(args) => show::show(&args),
        Command::Import(args) => import::import(&args),
        Command::Export(args) => export::export(&args),
        Command::Report(args) => report::report(&args),
        Command::Publish(args) => publish::publish(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Up(args) => up::up(&args),
        Command::Down(args) => up::down(&args),
        Command::Cluster(ClusterCommand::Up(args)) => cluster::up(&args),
        Command::Cluster(ClusterCommand::List(args)) => cluster::list(&args),
        Command::Cluster(ClusterCommand::Target(args)) => cluster::target(&args),
        Command::Cluster(ClusterCommand::Down(args)) => cluster::down(&args),
        Command::Target(TargetCommand::Init(mut args)) => {
            fill_in_cluster(&mut args.bootstrap_server, &mut args.command_config)?;
            target::init(&args)
        }
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Clean(args) => clean::clean(&args),
        Command::NullBroker(args) => null_broker::null_broker(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => manual::manual(&args),
        Command::Version => out::line(&format!("kdyno {VERSION}")).map(|()| Exit::Done),
        Command::Agent(args) => agent::agent(&args),
        Command::Kubernetes(command) => kubernetes::kubernetes(&command),
        Command::Worker => inner::worker(),
        Command::Guard => inner::guard(),
        Command::GuardExec(args) => inner::guard_exec(&args),
        Command::Keep => inner::keep_command(),
        Command::WatchKeeper(args) => inner::watch_keeper(&args),
        Command::HttpLoad(args) => inner::http_load(&args),
        Command::Lab(args) => lab::lab(&args),
        Command::Relay(args) => inner::relay(&args),
    }
}
