//! Open files: thousands of clients need thousands of sockets.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit of open files as far as the system lets it, as the JVM does; the usual 1024
/// would end a load of some hundred clients on a few brokers. Without the right nothing changes.
pub(crate) fn allow_all() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
