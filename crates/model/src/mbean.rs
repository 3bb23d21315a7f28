//! Attributes of brokers' MBeans that a scenario or a target names in addition to what is read anyway:
//! `kafka.server:type=ReplicaManager,name=LeaderCount/Value`.

use crate::metric::Address;
use crate::words::quoted;
use std::collections::BTreeSet;

/// Most of them: a broker looks each of them up whenever it is asked.
pub const MBEANS_MAX: usize = 50;
/// How its series and its metric begin; then comes its text.
pub const MBEAN: &str = "mbean:";
/// What to write, as a hint.
pub const HINT: &str = "write `OBJECT/ATTRIBUTE`: `kafka.server:type=ReplicaManager,name=LeaderCount/Value`";
const CHARACTERS_MAX: usize = 300;
/// What kdyno reads of a broker's process by rules of its own.
const READ_ANYWAY: [(&str, &str); 2] =
    [("java.lang:type=OperatingSystem", "ProcessCpuTime"), ("java.lang:type=Memory", "HeapMemoryUsage.used")];

/// An attribute of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MbeanAttribute<'t> {
    /// The object's name.
    pub object: ObjectName<'t>,
    /// The attribute's; of a composite one with the item's name behind a dot: `HeapMemoryUsage.max`.
    pub attribute: &'t str,
}

/// The name of one object.
#[derive(Debug, Clone)]
pub struct ObjectName<'t> {
    /// As typed.
    pub text: &'t str,
    /// What is in front of the colon.
    pub domain: &'t str,
    /// Keys with their values, in the order in which they are typed, which names nothing.
    pub properties: Vec<(&'t str, &'t str)>,
}

impl<'t> ObjectName<'t> {
    /// Reads `DOMAIN:KEY=VALUE,KEY=VALUE`.
    ///
    /// # Errors
    /// What it is instead, a clause.
    pub fn parse(text: &'t str) -> Result<Self, &'static str> {
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        let (domain, properties) = text.split_once(':').ok_or("has no domain with a `:` behind it")?;
        if !is_word(domain) {
            return Err("has no domain with a `:` behind it");
        }
        // A JVM refuses any other one, and the broker that is asked for it does not start.
        let is_key = |key: &str| is_word(key) && !key.contains(':');
        let is_value = |value: &str| !value.is_empty() && !value.contains(['=', ':']);
        let property =
            |text: &'t str| text.split_once('=').filter(|(key, value)| is_key(key) && is_value(value));
        let properties = properties.split(',').map(property).collect::<Option<Vec<_>>>();
        let properties = properties.ok_or("has a property that is not `KEY=VALUE`")?;
        let keys: BTreeSet<&str> = properties.iter().map(|(key, _)| *key).collect();
        match keys.len() == properties.len() {
            true => Ok(Self { text, domain, properties }),
            false => Err("has a key twice"),
        }
    }
}

impl PartialEq for ObjectName<'_> {
    fn eq(&self, other: &Self) -> bool {
        // No key is there twice.
        let has_all =
            |one: &Self, of: &[(&str, &str)]| of.iter().all(|property| one.properties.contains(property));
        self.domain == other.domain
            && self.properties.len() == other.properties.len()
            && has_all(self, &other.properties)
            && has_all(other, &self.properties)
    }
}

impl Eq for ObjectName<'_> {}

impl<'t> MbeanAttribute<'t> {
    /// Reads `OBJECT/ATTRIBUTE`.
    ///
    /// # Errors
    /// What it is instead, a clause.
    pub fn parse(text: &'t str) -> Result<Self, &'static str> {
        if text.chars().count() > CHARACTERS_MAX {
            return Err("is longer than 300 characters");
        }
        if text.contains(['*', '?']) {
            return Err("is a pattern, and a series is of one object");
        }
        // How a JVM reads other characters of the agent's file depends on its locale.
        if text.contains(|c: char| c.is_control() || !c.is_ascii() || "\"\\<>{}".contains(c)) {
            return Err("has a character that is in no name of an object here");
        }
        let (object, attribute) = text.rsplit_once('/').ok_or("names no attribute")?;
        if attribute.is_empty() || attribute.contains(char::is_whitespace) {
            return Err("names no attribute");
        }
        let object = ObjectName::parse(object)?;
        let is_same = |known: &(&str, &str)| {
            known.1 == attribute && ObjectName::parse(known.0).is_ok_and(|known| known == object)
        };
        match READ_ANYWAY.iter().any(is_same) {
            true => Err("is read anyway"),
            false => Ok(Self { object, attribute }),
        }
    }
}

/// Whether one may be added to others; `text` is one of them.
///
/// # Errors
/// Why not, one lowercase sentence.
pub fn check(others: &[String], text: &str) -> Result<(), String> {
    let shown = quoted(text);
    let found = MbeanAttribute::parse(text).map_err(|why| format!("`mbeans`: {shown} {why}"))?;
    if others.len() >= MBEANS_MAX {
        return Err(format!("`mbeans` names more than {MBEANS_MAX}"));
    }
    let is_same = |other: &String| MbeanAttribute::parse(other).is_ok_and(|other| other == found);
    if others.iter().any(is_same) {
        return Err(format!("`mbeans`: {shown} is there twice"));
    }
    Ok(())
}

/// Whether a series of a broker is one of these, or a metric.
pub fn is_series(name: &str) -> bool {
    name.starts_with(MBEAN)
}

/// Whether a metric is one of these.
pub fn is_of(address: &Address) -> bool {
    is_series(&address.metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_the_same_in_whichever_order_its_properties_are() {
        let read = |text| MbeanAttribute::parse(text).expect(text);
        let one = read("kafka.server:type=ReplicaManager,name=LeaderCount/Value");
        assert_eq!((one.object.domain, one.attribute), ("kafka.server", "Value"));
        assert_eq!(one, read("kafka.server:name=LeaderCount,type=ReplicaManager/Value"));
        assert_ne!(one, read("kafka.server:type=ReplicaManager/Value"));
        let pool = read("java.lang:type=MemoryPool,name=G1 Old Gen/Usage.used");
        assert_eq!(pool.object.properties[1], ("name", "G1 Old Gen"));
    }

    #[test]
    fn what_is_none_is_refused_with_what_it_is() {
        for (text, why) in [
            ("kafka.server:type=A", "names no attribute"),
            ("kafka.server:type=A/", "names no attribute"),
            ("LeaderCount/Value", "has no domain"),
            (":type=A/Value", "has no domain"),
            ("kafka.server:/Value", "has a property"),
            ("kafka.server:type=A, name=B/Value", "has a property"),
            ("kafka.server:type=A,name=/Value", "has a property"),
            ("kafka.server:type=A:B/Value", "has a property"),
            ("kafka.server:type=A,na:me=B/Value", "has a property"),
            ("kafka.server:type=A,name=B,type=C/Value", "has a key twice"),
            ("kafka.server:type=A,name=Z\u{e4}hler/Value", "has a character"),
            ("kafka.server:type=A,*/Value", "is a pattern"),
            ("kafka.server:type=\"A\"/Value", "has a character"),
            ("kafka.server:type=A\n/Value", "has a character"),
            ("java.lang:type=Memory/HeapMemoryUsage.used", "is read anyway"),
        ] {
            let reported = MbeanAttribute::parse(text).expect_err(text);
            assert!(reported.starts_with(why), "{text}: {reported}");
        }
        let long = format!("kafka.server:type={}/Value", "a".repeat(CHARACTERS_MAX));
        assert!(MbeanAttribute::parse(&long).is_err());
        let others = ["kafka.server:type=A,name=B/Value".to_owned()];
        let twice = check(&others, "kafka.server:name=B,type=A/Value").expect_err("the same");
        assert!(twice.ends_with("is there twice"), "{twice}");
        assert_eq!(check(&others, "kafka.server:name=B,type=A/Count"), Ok(()));
        let most = vec![others[0].clone(); MBEANS_MAX];
        assert!(check(&most, "kafka.server:type=C/Value").expect_err("too many").contains("more than 50"));
    }
}
