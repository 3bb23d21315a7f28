//! A null broker in a process of its own: what the load generator is calibrated with, and the system of cases that measure
//! a client alone.

use kdyno_model::plan::{NullBrokerPlan, Protocol, Security, StoreContent, Tls, TlsVersion};
use kdyno_testbed::guard::command_bound_to_us;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long the null broker may take to say where it listens.
const ADDRESS_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes of values in a batch that a fetch is answered with: what a producer's `batch.size` is by default.
const FETCH_BATCH_BYTES: u32 = 16 << 10;

/// A null broker; its process ends with this, and with our own, however that one ends.
pub(crate) struct NullBroker {
    /// Asked to end when it is looked at.
    child: Mutex<Child>,
    pid: u32,
    address: String,
    security: Security,
}

impl NullBroker {
    /// Starts one on a free port of the loopback address. Topics that were not created have so many `partitions`. It
    /// does not inherit the environment variables `hidden`.
    ///
    /// # Errors
    /// It does not start, or does not say where it listens: one lowercase sentence.
    pub(crate) fn start(
        self_exe: &Path,
        partitions: u32,
        plan: &NullBrokerPlan,
        hidden: &[String],
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("could not start a null broker: {error}");
        let tls = plan.tls.as_slice();
        let command = command_bound_to_us(self_exe, command_line(self_exe, partitions, plan));
        let mut command = command.map_err(|error| error.to_string())?;
        for variable in hidden {
            command.env_remove(variable);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C of a terminal is for the run, which ends it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (stdout, pid) = (child.stdout.take(), child.id());
        let mut broker =
            Self { child: Mutex::new(child), pid, address: String::new(), security: Security::default() };
        // What it says first may never come; a read has no deadline.
        let (reported, said) = channel();
        let has_tls = !tls.is_empty();
        std::thread::spawn(move || {
            reported.send(stdout.map(|stdout| address_and_certificate(stdout, has_tls)))
        });
        let said = said.recv_timeout(ADDRESS_TIME_MAX).ok().flatten().unwrap_or_default();
        let (address, certificate) = said.split_once('\n').unwrap_or_default();
        address.clone_into(&mut broker.address);
        if has_tls {
            broker.security = security(certificate, tls.to_vec());
        }
        if broker.address.is_empty() {
            Err("the null broker did not say where it listens".to_owned())
        } else {
            Ok(broker)
        }
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How it is spoken to: PLAINTEXT, or TLS with trust in the certificate that it made for itself.
    pub(crate) fn security(&self) -> &Security {
        &self.security
    }

    /// Process id, for the probes.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it has by itself.
    pub(crate) fn ended(&self) -> Option<String> {
        // A look that panicked has changed nothing.
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.try_wait().ok().flatten().map(|status| status.to_string())
    }
}

/// `kdyno null-broker` with what it is to be.
fn command_line(self_exe: &Path, partitions: u32, plan: &NullBrokerPlan) -> Vec<String> {
    let exe = self_exe.display().to_string();
    let partitions = partitions.to_string();
    let mut words = vec![&*exe, "null-broker", "--port", "0", "--partitions", &partitions];
    if !plan.tls.is_empty() {
        words.extend(["--tls", tls_word(&plan.tls)]);
    }
    let fetch = plan.fetch_value_bytes.map(|bytes| {
        let records = (FETCH_BATCH_BYTES / bytes.max(1)).max(1);
        (records.to_string(), bytes.to_string())
    });
    if let Some((records, bytes)) = &fetch {
        words.extend(["--fetch-batch", records, "--fetch-value", bytes]);
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The word of `null-broker --tls`.
fn tls_word(versions: &[TlsVersion]) -> &'static str {
    match versions {
        [TlsVersion::Tls12] => "1.2",
        [TlsVersion::Tls13] => "1.3",
        _ => "any",
    }
}

/// The first line, and with TLS all up to the end of the certificate.
fn address_and_certificate(stdout: impl Read, has_tls: bool) -> String {
    let mut said = String::new();
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
        if !has_tls || line.starts_with("-----END") {
            return said;
        }
    }
    String::new()
}

/// Trust in the null broker's own certificate.
fn security(certificate: &str, versions: Vec<TlsVersion>) -> Security {
    let content = StoreContent::Pem { certificates: certificate.to_owned(), key: None };
    Security { protocol: Protocol::Ssl, tls: Some(Tls::trusting(content, versions)), sasl: None }
}

impl Drop for NullBroker {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Both fail only when there is nothing left to end.
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_its_protocol_and_its_answers_to_fetches() {
        let words = |tls: Vec<TlsVersion>, fetch_value_bytes| {
            let plan = NullBrokerPlan { tls, fetch_value_bytes, is_second: false };
            command_line(Path::new("kdyno"), 3, &plan).join(" ")
        };
        let plain = "kdyno null-broker --port 0 --partitions 3";
        assert_eq!(words(Vec::new(), None), plain);
        assert_eq!(words(vec![TlsVersion::Tls13], None), format!("{plain} --tls 1.3"));
        let fetched = |records: &str| format!("{plain} --fetch-batch {records}");
        assert_eq!(words(Vec::new(), Some(1024)), fetched("16 --fetch-value 1024"));
        assert_eq!(words(Vec::new(), Some(1 << 20)), fetched("1 --fetch-value 1048576"));
        assert_eq!(words(Vec::new(), Some(0)), fetched("16384 --fetch-value 0"));
    }
}
