//! The command line as run files keep it.

use std::ffi::OsString;

/// Options whose values are not kept: addresses and topics of somebody's cluster, and properties, which may hold secrets.
const HIDDEN: &[&str] = &["bootstrap-server", PROPERTY, "topic", "include"];
/// Kafka's producer tool takes a list of these. Where one alone is taken, what is typed behind it is no less private.
const PROPERTY: &str = "command-property";

/// The command line as the run file keeps it, as text: of hidden values at most what is before their `=`.
pub(crate) fn command_line(args: impl Iterator<Item = OsString>) -> Vec<String> {
    let (mut is_hidden, mut is_property) = (false, false);
    let redacted = |value: &str| match value.split_once('=') {
        Some((name, _)) => format!("{name}=redacted"),
        None => "redacted".to_owned(),
    };
    let redact = |arg: String| {
        if std::mem::take(&mut is_hidden) {
            return redacted(&arg);
        }
        // Drop-in commands take options with one dash too.
        let Some(option) = arg.strip_prefix('-') else {
            return if is_property { redacted(&arg) } else { arg };
        };
        let (name, value) = option.split_once('=').unzip();
        let name = name.unwrap_or(option);
        let bare = name.strip_prefix('-').unwrap_or(name);
        is_property = bare == PROPERTY;
        let is_one = HIDDEN.contains(&bare);
        match value {
            Some(value) if is_one => format!("-{name}={}", redacted(value)),
            None => {
                is_hidden = is_one;
                arg
            }
            Some(_) => arg,
        }
    };
    args.map(|arg| arg.to_string_lossy().into_owned()).map(redact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_stay_in_the_command_line() {
        let kept = |typed: &[&str]| command_line(typed.iter().map(OsString::from)).join(" ");
        assert_eq!(
            kept(&["quick", "--bootstrap-server", "a:1", "--json"]),
            "quick --bootstrap-server redacted --json"
        );
        assert_eq!(kept(&["quick", "--bootstrap-server=a:1", "x"]), "quick --bootstrap-server=redacted x");
        let typed = [
            "x",
            "-bootstrap-server",
            "a:1",
            "--command-property",
            "a.b=c=d",
            "--command-property=e=f",
            "g=h",
            "required",
            "--json",
            "y",
        ];
        let expected = "x -bootstrap-server redacted --command-property a.b=redacted --command-property=e=redacted \
                        g=redacted redacted --json y";
        assert_eq!(kept(&typed), expected);
    }
}
