//! The components of a trial: started one after the other before its load, ended after it.

use super::component_set::ComponentAddress;
use super::variables::{Variables, of_trial};
use super::{Execution, TrialContext};
use crate::clock::{monotonic_ns, relative_ns};
use crate::component::{Awaited, Component};
use crate::database_watch::DatabaseWatch;
use crate::error::LabError;
use crate::options::RunProgress;
use crate::output::last_lines;
use crate::proxy::wait_led_through;
use kdyno_model::event::Subject;
use kdyno_model::plan::component::series;
use kdyno_model::plan::{ComponentKind, ComponentPlan, PostgresPlan, ProxyPlan, StopSignal};
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::Secret;
use kdyno_model::units::length;
use kdyno_testbed::cluster::{jvm_variables, loopback_ports, loopback_ports_in_a_row, random_id};
use kdyno_testbed::command::{CommandSpec, find};
use kdyno_testbed::postgres::{self, Counted};
use kdyno_testbed::{TestbedError, kroxylicious};
use std::path::{Path, PathBuf};

const NS_PER_MS: u64 = 1_000_000;
/// Variables by which a `psql` of the user's would be led elsewhere.
const OF_PSQL: [&str; 4] = ["PGOPTIONS", "PGSERVICE", "PGSERVICEFILE", "PSQLRC"];

impl Execution<'_> {
    /// Starts them, each when the one before is ready.
    pub(super) fn start_components(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let context = self.context;
        let plans = &context.trial.effective.components;
        if plans.is_empty() {
            return Ok(());
        }
        if plans.iter().any(|plan| plan.as_postgres().is_some()) {
            // Before a password is made.
            kdyno_credentials::close_memory();
        }
        // Held until all are known: each may get the address of any other.
        let (held, ports) = loopback_ports(plans.len())?;
        let row =
            plans.iter().any(ComponentPlan::is_proxy).then(|| loopback_ports_in_a_row(1 + brokers(context)));
        let row = row.transpose()?;
        for (plan, port) in plans.iter().zip(ports) {
            let port = row.as_ref().filter(|_| plan.is_proxy()).map_or(port, |(_, first)| *first);
            self.components.addresses.push(ComponentAddress::new(plan, port, random_id()?));
        }
        drop((held, row));
        for (at, plan) in plans.iter().enumerate() {
            progress(RunProgress::Step(format!("starting {}", plan.name)));
            let started = self.start_component(at, plan);
            started.map_err(|why| match context.may_go_on.must_end() {
                Some(stop) => stop.into(),
                None => LabError::Component {
                    name: plan.name.clone(),
                    why: self.components.hide(&why),
                    in_trial: true,
                },
            })?;
        }
        Ok(())
    }

    fn start_component(&mut self, at: usize, plan: &ComponentPlan) -> Result<(), String> {
        let context = self.context;
        let port = self.components.addresses[at].port;
        let folder = folder_of(context, plan);
        let (command_line, environment) = match &plan.kind {
            ComponentKind::Command(words) | ComponentKind::Proxy(ProxyPlan::Command(words)) => {
                self.of_command(plan, words, &folder, port)?
            }
            ComponentKind::Proxy(ProxyPlan::Kroxylicious(version)) => {
                (self.of_kroxylicious(version, &folder, port)?, Vec::new())
            }
            ComponentKind::Postgres(database) => {
                let password = Secret::new(self.components.addresses[at].password().into());
                let place = postgres::PostgresOptions { folder: &folder, port, password: &password };
                let installed = postgres::find(database.version)?;
                (postgres::lay_out(database, &installed, &place, context.environment)?, Vec::new())
            }
        };
        let spec = CommandSpec {
            environment,
            signal: plan.stop_signal,
            grace_ms: plan.stop_within_ns / NS_PER_MS,
            ..spec(context, &plan.name, command_line)
        };
        let awaited = Awaited {
            ready: plan.ready.clone(),
            within_ns: plan.ready_within_ns,
            port,
            folder: folder.clone(),
        };
        let mut hidden = context.secrets.variables();
        if plan.is_kdynos_own() {
            hidden.extend(jvm_variables());
        }
        let component = Component::start(&plan.name, &spec, &hidden, awaited)?;
        // From here on it is ended with the others, and its output kept, whatever comes.
        self.components.started.push(component);
        let may_go_on = &context.may_go_on;
        let component = &self.components.started[self.components.started.len() - 1];
        let until_ns = monotonic_ns().saturating_add(plan.ready_within_ns);
        component.wait_ready(&|| may_go_on.must_end().is_some())?;
        match &plan.kind {
            ComponentKind::Command(_) => Ok(()),
            ComponentKind::Proxy(_) => {
                let ended = || component.ended().map(|how| format!("it ended: {how}"));
                let stopped =
                    || may_go_on.must_end().map(|_| "the run was ended before it was ready".to_owned());
                let gone = || ended().or_else(stopped);
                let brokers = context.system.access();
                let led = wait_led_through(&brokers, &format!("127.0.0.1:{port}"), until_ns, &gone);
                led.map_err(|why| match component.tail().trim() {
                    "" => why,
                    tail => format!("{why}{}", last_lines(tail)),
                })
            }
            ComponentKind::Postgres(database) => self.watch_database(plan, database, &folder, port),
        }
    }

    /// Command line and environment of a program, with its folder made.
    fn of_command(
        &self,
        plan: &ComponentPlan,
        words: &[String],
        folder: &Path,
        port: u16,
    ) -> Result<(Vec<String>, Variables), String> {
        let context = self.context;
        let (name, arguments) = words.split_first().ok_or_else(|| "nothing to run was named".to_owned())?;
        let program = find(name, context.environment)?.to_string_lossy().into_owned();
        make_folder(folder)?;
        let bootstrap = match plan.is_proxy() {
            true => context.system.access().bootstrap,
            false => self.components.bootstrap(context.system),
        };
        let mut environment = of_trial(context, folder, &bootstrap)?;
        if let Some(tls) = context.system.listener_tls().filter(|_| plan.is_proxy()) {
            let files = tls.write(folder).map_err(|error| error.to_string())?;
            let named = [("CERTIFICATE", files.certificate), ("KEY", files.key), ("TRUST", files.authority)];
            let variable =
                |(name, path): (&str, PathBuf)| (format!("KDYNO_TLS_{name}"), path.display().to_string());
            environment.extend(named.map(variable));
        }
        environment.push(("KDYNO_COMPONENT".to_owned(), plan.name.clone()));
        environment.push(("KDYNO_PORT".to_owned(), port.to_string()));
        environment.extend(self.components.variables());
        environment.extend(plan.environment.clone());
        Ok((std::iter::once(program).chain(arguments.iter().cloned()).collect(), environment))
    }

    /// Command line of Kroxylicious, with its files in its folder.
    fn of_kroxylicious(&self, version: &str, folder: &Path, port: u16) -> Result<Vec<String>, String> {
        let context = self.context;
        let reported = |error: TestbedError| error.to_string();
        let installed = kroxylicious::provide(context.environment, version, &|_| {}).map_err(reported)?;
        make_folder(folder)?;
        let bootstrap = context.system.access().bootstrap;
        let place = kroxylicious::ProxyOptions {
            folder,
            port,
            brokers: u32::try_from(brokers(context)).unwrap_or(u32::MAX),
            bootstrap: &bootstrap,
            tls: context.system.listener_tls(),
        };
        kroxylicious::lay_out(&installed, &place).map_err(reported)
    }

    fn watch_database(
        &mut self,
        plan: &ComponentPlan,
        database: &PostgresPlan,
        folder: &Path,
        port: u16,
    ) -> Result<(), String> {
        let context = self.context;
        let installed = postgres::find(database.version)?;
        let line = postgres::counting(&installed, folder, port, &database.database)?;
        let spec = spec(context, &format!("{}-psql", plan.name), line);
        let mut hidden = context.secrets.variables();
        hidden.extend(OF_PSQL.map(str::to_owned));
        let watch = DatabaseWatch::start(&plan.name, &spec, &hidden, self.inbox.sender())?;
        self.components.watches.push(watch);
        Ok(())
    }

    /// Keeps what a database counted, once there is a time line for it.
    pub(super) fn keep_counted(&self, component: &str, at_ns: u64, counted: Counted) -> Result<(), LabError> {
        if self.t0_ns == 0 {
            return Ok(());
        }
        let at_ns = relative_ns(at_ns, self.t0_ns);
        let named = [
            (series::CONNECTIONS, counted.connections),
            (series::COMMITTED_TOTAL, counted.committed),
            (series::ROLLED_BACK_TOTAL, counted.rolled_back),
        ];
        let reading = |(series, value): (&str, u64)| ProbeReading {
            at_ns,
            subject: Subject::Component(component.to_owned()),
            series: series.to_owned(),
            value: value as f64,
        };
        Ok(self.context.store.probe(self.context.trial.id, named.map(reading).to_vec())?)
    }

    /// Ends them, the last that was started first, removes what databases hold, and keeps the last that each wrote.
    pub(super) fn stop_components(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        self.components.watches.clear();
        for at in (0..self.components.started.len()).rev() {
            let component = &mut self.components.started[at];
            let (name, is_killed) = (component.subject().to_string(), component.stop());
            if is_killed {
                let plans = &self.context.trial.effective.components;
                let plan = plans.iter().find(|plan| plan.name == name);
                let within = plan.map_or(0, |plan| plan.stop_within_ns);
                let signal = plan.map_or(StopSignal::Term, |plan| plan.stop_signal);
                progress(RunProgress::Warning(format!(
                    "{name} did not end within {} of SIG{signal} and was killed",
                    length(within)
                )));
            }
        }
        let databases =
            self.context.trial.effective.components.iter().filter(|plan| plan.as_postgres().is_some());
        for plan in databases {
            // A run may have a hundred trials. What cannot be removed goes with the run's folder.
            let _ = std::fs::remove_dir_all(folder_of(self.context, plan));
        }
        self.keep_component_logs()
    }

    /// Keeps the last that each wrote, of those whose end has not been reported.
    pub(super) fn keep_component_logs(&self) -> Result<(), LabError> {
        for component in &self.components.started {
            let subject = component.subject();
            let tail = self.components.tail(&subject).unwrap_or_default();
            if !self.died.contains(&subject) && !tail.trim().is_empty() {
                self.context.store.log(&subject.to_string(), &self.context.private.hide(&tail))?;
            }
        }
        Ok(())
    }
}

/// How many brokers the trial's system has, by its addresses.
fn brokers(context: &TrialContext<'_>) -> usize {
    context.system.access().bootstrap.len()
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("its folder {} cannot be made: {error}", folder.display()))
}

/// The trial's folder of a component.
fn folder_of(context: &TrialContext<'_>, plan: &ComponentPlan) -> PathBuf {
    context.work_dir.join(format!("component-{}", plan.name))
}

/// How a process of a component is kept: until it is asked to end.
fn spec(context: &TrialContext<'_>, name: &str, command_line: Vec<String>) -> CommandSpec {
    CommandSpec {
        exe: PathBuf::from(context.self_exe),
        command_line,
        environment: Vec::new(),
        mark: format!("{:016x}-{}-{name}", context.run_id, context.trial.id),
        timeout_ns: u64::MAX,
        signal: StopSignal::Term,
        grace_ms: 1_000,
    }
}
