//! Tokens expire: that of a target is asked for anew when a trial begins, and while it goes on before it expires.
//! Connections that are up log in again with the newer one when the broker wants that; new ones at once.

use crate::inbox::{Heard, Renewed};
use crate::secrets::resolve_again;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kdyno_kafka::security::Hidden;
use kdyno_kafka::security::sasl::Login;
use kdyno_model::plan::{CasePlan, Sasl, SystemPlan};
use kdyno_model::secret::{Secret, SecretRef};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, SystemTime};

/// Part of the time that is left to a token after which it is asked for anew (Java: `sasl.login.refresh.window.factor`).
const WINDOW: f64 = 0.8;
/// When a token does not say when it expires.
const EVERY: Duration = Duration::from_secs(300);
/// Between two attempts at least.
const PAUSE_MIN: Duration = Duration::from_secs(5);

/// A token that can be asked for anew.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// Its name in the plan.
    pub(crate) name: String,
    reference: SecretRef,
}

impl Token {
    /// That of a case, where it logs in with one from a file, a properties file among them, or a command.
    pub(crate) fn of(case: &CasePlan) -> Option<Self> {
        let SystemPlan::Attached(target) = &case.system else { return None };
        let Some(Sasl::OauthBearer { token, .. }) = &target.security.sasl else { return None };
        let reference = case.secrets.get(token)?;
        let is_renewed =
            matches!(reference, SecretRef::File(_) | SecretRef::Property { .. } | SecretRef::Exec(_));
        is_renewed.then(|| Self { name: token.clone(), reference: reference.clone() })
    }

    /// Its value now; the error says why there is none, and nothing of what was read.
    pub(crate) fn value(&self) -> Result<Secret, String> {
        resolve_again(&self.reference).map_err(|why| format!("{} {why}", self.reference))
    }
}

/// The thread that asks; it ends when this is dropped.
pub(crate) struct Renewal {
    /// Nothing is sent: its end tells the thread to end.
    _alive: Sender<()>,
}

impl Renewal {
    /// Asks anew before `first` expires, and so on; the lab's own `login` has it at once, workers by way of the inbox.
    pub(crate) fn start(
        token: Token,
        first: &Secret,
        login: Option<Arc<Login>>,
        inbox: SyncSender<Heard>,
    ) -> std::io::Result<Self> {
        let (alive, ended) = channel();
        let wait = wait(first, now_s());
        let asks = move || ask(&token, wait, login.as_deref(), &inbox, &ended);
        // It is not waited for: a command that hangs has a deadline of its own, and holds nothing up.
        std::thread::Builder::new().name("token".to_owned()).spawn(asks)?;
        Ok(Self { _alive: alive })
    }
}

fn ask(
    token: &Token,
    mut pause: Duration,
    login: Option<&Login>,
    inbox: &SyncSender<Heard>,
    ended: &Receiver<()>,
) {
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let value = token.value().and_then(|secret| {
            let newer = Hidden::new(secret.expose().to_vec());
            login.map_or(Ok(()), |login| login.renew(newer).map_err(|error| error.to_string()))?;
            Ok(secret)
        });
        pause = value.as_ref().map_or(PAUSE_MIN, |secret| wait(secret, now_s()));
        // A trial that is over does not listen.
        let _ = inbox.try_send(Heard::Token(Renewed { name: token.name.clone(), value }));
    }
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// How long a token may be used before it is asked for anew.
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

    fn token(claims: &str) -> Secret {
        Secret::new(format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims)).into_bytes())
    }

    #[test]
    fn a_token_is_asked_for_before_it_expires() {
        let wait_s = |token: &Secret| wait(token, 1_000.0).as_secs_f64();
        assert_eq!(wait_s(&token(r#"{"sub":"me","exp":2000}"#)), 800.0);
        assert_eq!(wait_s(&token(r#"{"exp":900}"#)), 5.0, "it has expired: soon");
        for other in [token("{}"), token("no JSON"), Secret::new(b"opaque".to_vec()), Secret::new(Vec::new())]
        {
            assert_eq!(wait_s(&other), 300.0);
        }
        assert_eq!(wait_s(&token(r#"{"exp":1e300}"#)), 5.0, "no time is that long");
    }
}
