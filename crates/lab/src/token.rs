//! Tokens expire: that of a target is requested again when a trial begins, and while it goes on before it expires.
//! Connections that are up log in again with the newer one when the broker wants that; new ones at once.

use crate::error::LabError;
use crate::inbox::{Heard, Renewed};
use crate::secrets::resolve_again;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kdyno_kafka::security::Hidden;
use kdyno_kafka::security::sasl::Login;
use kdyno_model::plan::{CasePlan, Sasl};
use kdyno_model::secret::{Secret, SecretRef};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel};
use std::time::{Duration, SystemTime};

/// Part of the time that is left to a token after which it is requested again. A Java client takes what it is handed
/// after 0.8 of it at the earliest (`sasl.login.refresh.window.factor`): by then the newer one must have reached it, or
/// it goes on with a token that is about to end, until brokers refuse one login that follows another within a second.
const WINDOW: f64 = 0.7;
/// When a token does not say when it expires.
const EVERY: Duration = Duration::from_secs(300);
/// Between two attempts at least.
const PAUSE_MIN: Duration = Duration::from_secs(5);

/// A token that can be requested again.
#[derive(Debug, Clone)]
pub(crate) struct RenewableToken {
    /// Its name in the plan.
    pub(crate) name: String,
    reference: SecretRef,
}

impl RenewableToken {
    /// That of a case, where it logs in with one from a file, a properties file among them, or a command.
    pub(crate) fn of(case: &CasePlan) -> Option<Self> {
        let Some(Sasl::OauthBearer { token, .. }) = &case.system.target()?.security.sasl else { return None };
        let reference = case.secrets.get(token)?;
        let is_renewed =
            matches!(reference, SecretRef::File(_) | SecretRef::Property { .. } | SecretRef::Exec(_));
        is_renewed.then(|| Self { name: token.clone(), reference: reference.clone() })
    }

    /// The token of a case, requested again, with its value: logins of `login` have it from now on. `None` where there
    /// is none that can be requested.
    ///
    /// # Errors
    /// It has no value now, or one that no login can send.
    pub(crate) fn renewed(
        case: &CasePlan,
        login: Option<&Login>,
    ) -> Result<Option<(Self, Secret)>, LabError> {
        let Some(token) = Self::of(case) else { return Ok(None) };
        let failed = |why| LabError::failed(format!("the token of the login: {why}"));
        let value = token.ask(login).map_err(failed)?;
        Ok(Some((token, value)))
    }

    /// Its value now, which logins of `login` have from now on; the error says why there is none, and nothing of what was
    /// read.
    fn ask(&self, login: Option<&Login>) -> Result<Secret, String> {
        let value = resolve_again(&self.reference).map_err(|why| format!("{} {why}", self.reference))?;
        let newer = Hidden::new(value.expose().to_vec());
        login.map_or(Ok(()), |login| login.renew(newer).map_err(|error| error.to_string()))?;
        Ok(value)
    }
}

/// The thread that asks; it ends when this is dropped.
pub(crate) struct Renewal {
    /// Nothing is sent: its end asks the thread to end.
    _alive: Sender<()>,
}

impl Renewal {
    /// Requests it again before `first` expires, and so on; the lab's own `login` has it at once, workers by way of the
    /// inbox.
    pub(crate) fn start(
        token: RenewableToken,
        first: &Secret,
        login: Option<Arc<Login>>,
        inbox: SyncSender<Heard>,
    ) -> std::io::Result<Self> {
        let (alive, ended) = channel();
        let wait = wait(first, now_s());
        let asks = move || ask(&token, (wait, PAUSE_MIN), login.as_deref(), &inbox, &ended);
        // It is not waited for: a command that hangs has a deadline of its own, and holds nothing up.
        std::thread::Builder::new().name("token".to_owned()).spawn(asks)?;
        Ok(Self { _alive: alive })
    }
}

/// Asks after the first of the pauses and then again and again, at least the second apart. Why there is no newer token is
/// reported once, until there is one or another reason.
fn ask(
    token: &RenewableToken,
    (mut pause, pause_min): (Duration, Duration),
    login: Option<&Login>,
    inbox: &SyncSender<Heard>,
    ended: &Receiver<()>,
) {
    let mut reported = None;
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let value = token.ask(login);
        pause = value.as_ref().map_or(pause_min, |secret| wait(secret, now_s()));
        let why = value.as_ref().err().cloned();
        if why.is_some() && why == reported {
            continue;
        }
        let heard = Heard::Token(Renewed { name: token.name.clone(), value });
        // A trial that is over does not listen; one that has no room for it hears of the next one soon.
        match inbox.try_send(heard) {
            Err(TrySendError::Full(_)) => pause = pause_min,
            Ok(()) | Err(TrySendError::Disconnected(_)) => reported = why,
        }
    }
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// How long a token may be used before it is requested again.
fn wait(token: &Secret, now_s: f64) -> Duration {
    let left_s = expires_s(token.expose()).map(|expires_s| (expires_s - now_s) * WINDOW);
    let left = left_s.map(|left_s| Duration::try_from_secs_f64(left_s).unwrap_or_default());
    left.unwrap_or(EVERY).max(PAUSE_MIN)
}

/// `exp` of a JSON web token, seconds since 1970; the signature is the broker's to check.
fn expires_s(token: &[u8]) -> Option<f64> {
    let claims = token.split(|byte| *byte == b'.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    claims.get("exp")?.as_f64().filter(|seconds| seconds.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_kafka::connection::Connection;
    use kdyno_kafka::messages::{
        Api, Message, m17_sasl_handshake, m18_api_versions, m36_sasl_authenticate, write_frame,
    };
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::mpsc::sync_channel;

    /// What waits to be written, which then counts as written.
    fn written(connection: &mut Connection<()>) -> Vec<u8> {
        let mut bytes = Vec::new();
        connection.write_to(&mut bytes).expect("a vector takes all");
        connection.stamp_written(1);
        bytes
    }

    fn answer(connection: &mut Connection<()>, id: i32, version: i16, response: &impl Message) {
        let mut frame = Vec::new();
        write_frame(&mut frame, |out| {
            out.extend_from_slice(&id.to_be_bytes());
            response.encode(version, out);
        });
        connection.input_space()[..frame.len()].copy_from_slice(&frame);
        connection.advance_read(frame.len()).expect("no session");
        connection.receive(2, |_, _| Ok(())).expect("a handshake");
    }

    /// The request by which a new connection says who we are.
    fn said(login: &Arc<Login>) -> String {
        let mut connection = Connection::new("me".into(), &[], 1 << 20);
        connection.open(None, Some(Arc::clone(login)), 0);
        written(&mut connection);
        let range = |api: Api| m18_api_versions::ApiVersion {
            api_key: api.key,
            min_version: 0,
            max_version: api.version_max,
        };
        let api_keys = vec![range(m17_sasl_handshake::API), range(m36_sasl_authenticate::API)];
        let versions = m18_api_versions::Response { api_keys, ..Default::default() };
        answer(&mut connection, 0, m18_api_versions::API.version_max, &versions);
        written(&mut connection);
        answer(&mut connection, 1, 1, &m17_sasl_handshake::Response::default());
        String::from_utf8_lossy(&written(&mut connection)).into_owned()
    }

    fn write(path: &Path, token: &str) {
        std::fs::write(path, token).expect("written");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("made private");
    }

    fn bearer(token: &str) -> Arc<Login> {
        let token = Hidden::new(token.as_bytes().to_vec());
        Arc::new(Login::oauth_bearer(token, BTreeMap::new()).expect("a token"))
    }

    /// Two trials on one target: the lab makes and deletes their topics by the same login.
    #[test]
    fn the_labs_own_login_has_the_token_of_the_trial_that_begins() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        let token = RenewableToken { name: "token".to_owned(), reference: SecretRef::File(path.clone()) };
        let login = bearer("at-the-start");
        for trial in ["of-trial-1", "of-trial-2"] {
            write(&path, trial);
            let value = token.ask(Some(&login)).expect("a token");
            assert_eq!(value.expose(), trial.as_bytes());
            let said = said(&login);
            assert!(said.contains(&format!("auth=Bearer {trial}\u{1}")), "{said:?}");
        }
        write(&path, "no token");
        let why = token.ask(Some(&login)).err().expect("no token has a space");
        assert!(!why.contains("no token"), "{why}");
        assert!(said(&login).contains("of-trial-2"), "the one before it stays");
    }

    #[test]
    fn tokens_are_renewed_for_login_and_workers_during_a_trial() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        write(&path, "newer");
        let token = RenewableToken { name: "token".to_owned(), reference: SecretRef::File(path) };
        let login = bearer("older");
        let (inbox, heard) = sync_channel(1);
        let (alive, ended) = channel();
        let its_login = Arc::clone(&login);
        let asks = std::thread::spawn(move || {
            ask(&token, (Duration::ZERO, PAUSE_MIN), Some(&its_login), &inbox, &ended);
        });
        let Heard::Token(Renewed { name, value }) = heard.recv().expect("a token") else {
            panic!("something else")
        };
        assert_eq!(name, "token");
        assert_eq!(value.expect("a value").expose(), b"newer");
        assert!(said(&login).contains("auth=Bearer newer\u{1}"));
        drop::<Sender<()>>(alive);
        asks.join().expect("it ends with its trial");
    }

    #[test]
    fn a_missing_newer_token_is_reported_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        let token = RenewableToken { name: "token".to_owned(), reference: SecretRef::File(path.clone()) };
        let (inbox, heard) = sync_channel(9);
        let (alive, ended) = channel();
        let pauses = (Duration::ZERO, Duration::from_millis(1));
        let asks = std::thread::spawn(move || ask(&token, pauses, None, &inbox, &ended));
        let next = || match heard.recv().expect("news") {
            Heard::Token(renewed) => renewed.value.map(|value| value.expose().to_vec()),
            _ => panic!("something else"),
        };
        assert!(next().is_err_and(|why| why.contains("could not be read")));
        // It is there at once, with all that it needs.
        let made = dir.path().join("made");
        write(&made, "newer");
        std::thread::sleep(Duration::from_millis(20));
        std::fs::rename(made, path).expect("renamed");
        assert_eq!(next().as_deref(), Ok(&b"newer"[..]), "what was told is not told again");
        drop::<Sender<()>>(alive);
        asks.join().expect("it ends with its trial");
    }

    fn token(claims: &str) -> Secret {
        Secret::new(format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims)).into_bytes())
    }

    #[test]
    fn a_token_is_asked_for_before_it_expires() {
        let wait_s = |token: &Secret| wait(token, 1_000.0).as_secs_f64();
        assert_eq!(wait_s(&token(r#"{"sub":"me","exp":2000}"#)), 700.0);
        assert_eq!(wait_s(&token(r#"{"exp":900}"#)), 5.0, "it has expired: soon");
        for other in [token("{}"), token("no JSON"), Secret::new(b"opaque".to_vec()), Secret::new(Vec::new())]
        {
            assert_eq!(wait_s(&other), 300.0);
        }
        assert_eq!(wait_s(&token(r#"{"exp":1e300}"#)), 5.0, "no time is that long");
    }
}
