//! The components of a trial, in the order in which they were started, and what others have to know of them.

use crate::component::Component;
use crate::database_watch::DatabaseWatch;
use crate::system::SystemUnderTest;
use kdyno_model::event::Subject;
use kdyno_model::plan::ComponentPlan;
use kdyno_testbed::postgres::LOGIN;
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeMap;

/// What runs next to the cluster in a trial.
#[derive(Default)]
pub(super) struct Components {
    /// For each component its port, and for databases how they are reached.
    pub(super) addresses: Vec<ComponentAddress>,
    pub(super) started: Vec<Component>,
    /// Ended before what they read.
    pub(super) watches: Vec<DatabaseWatch>,
}

/// How a component is reached.
pub(super) struct ComponentAddress {
    name: String,
    pub(super) port: u16,
    is_proxy: bool,
    /// For a database its name, and the password of its user.
    database: Option<(String, String)>,
}

impl ComponentAddress {
    pub(super) fn new(plan: &ComponentPlan, port: u16, password: String) -> Self {
        let database = plan.as_postgres().map(|database| (database.database.clone(), password));
        Self { name: plan.name.clone(), port, is_proxy: plan.is_proxy(), database }
    }

    /// The password of a database; empty where it is none.
    pub(super) fn password(&self) -> &str {
        self.database.as_ref().map_or("", |(_, password)| password)
    }

    /// What the environment of others says of it.
    fn variables(&self) -> Vec<(String, String)> {
        let (name, port) = (self.name.replace('-', "_"), self.port);
        let named = |beginning: &str, value: String| (format!("KDYNO_{beginning}_{name}"), value);
        let address = format!("127.0.0.1:{port}");
        let mut found = vec![named("PORT", port.to_string()), named("ADDRESS", address.clone())];
        if let Some((database, password)) = &self.database {
            found.extend([
                named("DATABASE", database.clone()),
                named("USER", LOGIN.to_owned()),
                named("PASSWORD", password.clone()),
                named("URL", format!("postgresql://{LOGIN}:{password}@{address}/{database}")),
            ]);
        }
        found
    }
}

impl Components {
    /// Where one listens, `HOST:PORT`; `None`: there is none of that name.
    pub(super) fn address(&self, name: &str) -> Option<String> {
        self.addresses.iter().find(|one| one.name == name).map(|one| format!("127.0.0.1:{}", one.port))
    }

    /// `host:port` that clients of a system ask first: that of the proxy, where there is one.
    pub(super) fn bootstrap(&self, system: &dyn SystemUnderTest) -> Vec<String> {
        let proxy = self.addresses.iter().find(|one| one.is_proxy);
        proxy.map_or_else(|| system.access().bootstrap, |proxy| vec![format!("127.0.0.1:{}", proxy.port)])
    }

    /// What the environment of commands and components says of all of them.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        self.addresses.iter().flat_map(ComponentAddress::variables).collect()
    }

    /// A text without the passwords that were made for them.
    pub(super) fn hide(&self, text: &str) -> String {
        let passwords = self.addresses.iter().map(ComponentAddress::password);
        let passwords = passwords.filter(|password| !password.is_empty());
        passwords.fold(text.to_owned(), |text, password| text.replace(password, "PASSWORD"))
    }

    /// For the probes.
    pub(super) fn processes(&self) -> Vec<ProcessRef> {
        self.started.iter().map(Component::process).collect()
    }

    /// Components that have ended by themselves, and how.
    pub(super) fn ended(&self) -> BTreeMap<Subject, String> {
        self.started.iter().filter_map(|one| Some((one.subject(), one.ended()?))).collect()
    }

    /// The last that one wrote; `None`: it is no component.
    pub(super) fn tail(&self, of: &Subject) -> Option<String> {
        self.started.iter().find(|one| one.subject() == *of).map(|one| self.hide(&one.tail()))
    }
}

impl Drop for Components {
    fn drop(&mut self) {
        self.watches.clear();
        // Later components may need earlier ones.
        while self.started.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::component;
    use kdyno_model::plan::{ComponentKind, PostgresPlan};

    #[test]
    fn components_get_each_others_address_and_no_output_a_password() {
        let database =
            PostgresPlan { version: None, database: "library".to_owned(), settings: BTreeMap::new() };
        let addresses = vec![
            ComponentAddress::new(
                &component("my-db", ComponentKind::Postgres(database)),
                5,
                "hunter2".to_owned(),
            ),
            ComponentAddress::new(
                &component("web", ComponentKind::Command(Vec::new())),
                6,
                "unused".to_owned(),
            ),
        ];
        let mut components = Components::default();
        components.addresses = addresses;
        let variables: BTreeMap<String, String> = components.variables().into_iter().collect();
        let expected = [
            ("KDYNO_ADDRESS_my_db", "127.0.0.1:5"),
            ("KDYNO_ADDRESS_web", "127.0.0.1:6"),
            ("KDYNO_DATABASE_my_db", "library"),
            ("KDYNO_PASSWORD_my_db", "hunter2"),
            ("KDYNO_PORT_my_db", "5"),
            ("KDYNO_PORT_web", "6"),
            ("KDYNO_URL_my_db", "postgresql://kdyno:hunter2@127.0.0.1:5/library"),
            ("KDYNO_USER_my_db", "kdyno"),
        ];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(components.hide("URL=x:hunter2@y, unused"), "URL=x:PASSWORD@y, unused");
    }
}
