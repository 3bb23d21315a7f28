//! YAML in the plain form that resources are written in.

/// Letters of a name at most: those of a label's value, less those that Strimzi adds to a cluster's (`-kafka-bootstrap`).
const NAME_MAX: usize = 63 - 16;

/// A file that grows line by line.
#[derive(Default)]
pub(super) struct Yaml {
    out: String,
}

impl Yaml {
    /// Begins a resource.
    pub fn resource(&mut self, api: &str, kind: &str, name: &str) {
        self.line(0, "---");
        self.line(0, &format!("apiVersion: {api}"));
        self.line(0, &format!("kind: {kind}"));
        self.line(0, "metadata:");
        self.line(2, &format!("name: {name}"));
    }

    /// A line that begins so far from the left.
    pub fn line(&mut self, indent: usize, text: &str) {
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// All of it.
    pub fn text(self) -> String {
        self.out
    }
}

/// A text in quotes, as JSON has it, which YAML reads too: a number or `yes` stays a text.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text as the name of a resource: lower-case letters, digits, dots and hyphens, letters or digits at both ends.
pub(super) fn name_of(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.chars().map(kept).take(NAME_MAX).collect();
    // A dot is between two letters or digits.
    let parts: Vec<&str> =
        name.split('.').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "kdyno".to_owned() } else { parts.join(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_kubernetes_takes() {
        assert_eq!(name_of("ibm-resilient"), "ibm-resilient");
        assert_eq!(name_of("Orders_EU.v1"), "orders-eu.v1");
        assert_eq!(name_of("__é."), "kdyno");
        assert_eq!(name_of("a...b.-c-"), "a.b.c");
        assert_eq!(format!("{}-kafka-bootstrap", name_of(&"a".repeat(100))).len(), 63);
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("yes"), "\"yes\"");
        assert_eq!(quoted("a\"b\n#: c"), "\"a\\\"b\\n#: c\"");
    }
}
