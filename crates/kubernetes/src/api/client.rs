//! A connection to the API server, used by threads that know nothing of futures.

use crate::PodsError;
use k8s_openapi::NamespaceResourceScope;
use kdyno_model::generator::GeneratorPods;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Preconditions};
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config, Resource};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long an answer of the API server may take.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// How long the API server may be away while something is removed.
pub(super) const AWAY_MAX: Duration = Duration::from_secs(60);

/// How long it may be away while pods are waited for.
pub(super) const BLIP_MAX: Duration = Duration::from_secs(30);

/// Between asking and asking again.
const AGAIN: Duration = Duration::from_millis(500);

/// Who makes the changes, for those who look at the objects.
pub(super) const MANAGER: &str = "kdyno";

/// The connection. A thread of its own carries what is under way, streams too; it ends when the last one of these is dropped.
#[derive(Clone)]
pub(super) struct Connection {
    handle: Handle,
    client: Client,
    namespace: String,
    /// Dropped to end the thread.
    _end: Arc<oneshot::Sender<()>>,
}

/// What the API server does not do.
pub(super) enum Refused {
    /// A right lacks: its own words, which name the verb.
    Forbidden(String),
    /// There is no such object, or no such namespace.
    NotFound(String),
    /// It does not know who asks, such as one whose login has expired.
    Unauthorized(String),
    /// One lowercase clause.
    Other(String),
}

/// Whether it is gone, by this or before.
pub(super) fn gone<T>(deleted: Result<T, Refused>) -> Result<(), PodsError> {
    match deleted {
        Ok(_) | Err(Refused::NotFound(_)) => Ok(()),
        Err(refused) => Err(refused.into()),
    }
}

/// Asks again until an instant where there is no plain answer: an API server that is away may come back.
pub(super) fn insist<T>(until: Instant, mut ask: impl FnMut() -> Result<T, Refused>) -> Result<T, Refused> {
    loop {
        match ask() {
            Err(Refused::Other(_)) if Instant::now() < until => std::thread::sleep(AGAIN),
            answer => return answer,
        }
    }
}

/// An API server that is asked again and again until something is there: it may be away for [`BLIP_MAX`] each time.
#[derive(Default)]
pub(super) struct Patience {
    away_since: Option<Instant>,
}

impl Patience {
    /// What came of asking by `now`; the inner error is why there is no answer for the moment.
    pub(super) fn bear<T>(
        &mut self,
        asked: Result<T, Refused>,
        now: Instant,
    ) -> Result<Result<T, String>, PodsError> {
        match asked {
            Ok(answer) => {
                self.away_since = None;
                Ok(Ok(answer))
            }
            Err(Refused::Other(why)) => {
                let away = now.saturating_duration_since(*self.away_since.get_or_insert(now));
                if away < BLIP_MAX {
                    return Ok(Err(format!("{why}; it is asked again")));
                }
                let seconds = away.as_secs();
                Err(PodsError::new(format!("{why}; it was asked again for {seconds} s")))
            }
            Err(refused) => Err(refused.into()),
        }
    }
}

impl From<Refused> for PodsError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Forbidden(why) => Self::new(format!("the API server refuses it: {why}")).hint(
                "`kdyno kubernetes role` prints the least rights, with `--strimzi` also those for Strimzi",
            ),
            Refused::NotFound(why) => Self::new(format!("the API server refuses it: {why}")),
            Refused::Unauthorized(why) => Self::new(format!("the API server refuses it: {why}"))
                .hint("does `kubectl get pods` work here?"),
            Refused::Other(why) => Self::new(why),
        }
    }
}

impl From<kube::Error> for Refused {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_forbidden() => Self::Forbidden(status.message.clone()),
            kube::Error::Api(status) if status.is_not_found() => Self::NotFound(status.message.clone()),
            kube::Error::Api(status) if status.code == 401 => Self::Unauthorized(status.message.clone()),
            kube::Error::Api(status) => Self::Other(format!("the API server refuses it: {}", status.message)),
            error => Self::Other(format!("the API server is not reached: {}", innermost(&error))),
        }
    }
}

/// The cause of all, for libraries repeat it around itself.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

impl Connection {
    /// Reads the kubeconfig, or what a pod gets in its place; nothing is sent yet.
    pub(super) fn open(pods: &GeneratorPods) -> Result<Self, PodsError> {
        Self::open_in(pods.context.as_deref(), pods.namespace.as_deref())
    }

    /// Opens a client for a namespace, by default that of the context.
    pub(super) fn open_in(context: Option<&str>, namespace: Option<&str>) -> Result<Self, PodsError> {
        Self::by(config(context.map(str::to_owned)), namespace)
    }

    /// By what says how the API server is reached.
    pub(super) fn by(
        config: impl Future<Output = Result<Config, PodsError>>,
        namespace: Option<&str>,
    ) -> Result<Self, PodsError> {
        let failed = |error: std::io::Error| PodsError::new(format!("no connection could be made: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        // Its end is the end of its sender.
        let carry = move || drop(runtime.block_on(ended));
        std::thread::Builder::new().name("kubernetes".to_owned()).spawn(carry).map_err(failed)?;
        let config = handle.block_on(config)?;
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        let client = handle.block_on(async { Client::try_from(config) });
        let client = client
            .map_err(|error| PodsError::new(format!("no connection could be made: {}", innermost(&error))))?;
        Ok(Self { handle, client, namespace, _end: Arc::new(end) })
    }

    /// Objects of the namespace.
    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Objects of the namespace whose kind is not known to the compiler.
    pub(super) fn dynamic(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, resource)
    }

    /// The namespace.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Objects of the whole cluster.
    pub(super) fn of_cluster<K>(&self) -> Api<K>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        Api::all(self.client.clone())
    }

    /// Waits for an answer.
    pub(super) fn ask<T>(&self, asked: impl Future<Output = kube::Result<T>>) -> Result<T, Refused> {
        self.ask_within(ANSWER_DEADLINE, asked)
    }

    /// Waits no longer than that.
    pub(super) fn ask_within<T>(
        &self,
        deadline: Duration,
        asked: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Refused> {
        let answer = self.handle.block_on(async { tokio::time::timeout(deadline, asked).await });
        match answer {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                let seconds = deadline.as_secs();
                Err(Refused::Other(format!("the API server did not answer within {seconds} s")))
            }
        }
    }

    /// Asks where every refusal is an error.
    pub(super) fn call<T>(&self, asked: impl Future<Output = kube::Result<T>>) -> Result<T, PodsError> {
        Ok(self.ask(asked)?)
    }
}

async fn config(context: Option<String>) -> Result<Config, PodsError> {
    let read = match context {
        None => Config::infer().await.map_err(|error| error.to_string()),
        context => {
            let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
            Config::from_kubeconfig(&options).await.map_err(|error| error.to_string())
        }
    };
    read.map_err(|why| {
        PodsError::new(format!("the kubeconfig is of no use: {why}"))
            .hint("does `kubectl get pods` work here? `context` names another one")
    })
}

/// Deletes the object that was seen, and none that has its name now.
pub(super) fn of_uid(how: DeleteParams, uid: Option<String>) -> DeleteParams {
    how.preconditions(Preconditions { uid, resource_version: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered after so many attempts without an answer, and the number of all attempts.
    fn insisted(
        attempts: u32,
        until: Instant,
        last: fn() -> Result<u8, Refused>,
    ) -> (Result<u8, Refused>, u32) {
        let mut asked = 0;
        let answer = insist(until, || {
            asked += 1;
            if asked > attempts { last() } else { Err(Refused::Other("no answer".to_owned())) }
        });
        (answer, asked)
    }

    #[test]
    fn it_is_asked_again_while_there_is_no_answer() {
        let (now, later) = (Instant::now(), Instant::now() + AWAY_MAX);
        assert!(matches!(insisted(2, later, || Ok(7)), (Ok(7), 3)));
        assert!(matches!(insisted(2, now, || Ok(7)), (Err(Refused::Other(_)), 1)), "its time is over");
        let forbidden = insisted(0, later, || Err(Refused::Forbidden("no".to_owned())));
        assert!(matches!(forbidden, (Err(Refused::Forbidden(_)), 1)), "that is an answer");
    }

    #[test]
    fn an_api_server_may_be_away_for_a_while_again_and_again() {
        let away = || Err::<u8, _>(Refused::Other("the API server is not reached: reset".to_owned()));
        let (mut patience, begin) = (Patience::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        for seconds in [0, 29] {
            let words = patience.bear(away(), at(seconds)).expect("it may come back");
            assert_eq!(words, Err("the API server is not reached: reset; it is asked again".to_owned()));
        }
        assert_eq!(patience.bear(Ok(7), at(29)), Ok(Ok(7)));
        assert!(patience.bear(away(), at(40)).is_ok(), "another time, which begins afresh");
        let error = patience.bear(away(), at(71)).expect_err("it lasts");
        assert_eq!(error.why, "the API server is not reached: reset; it was asked again for 31 s");
        let forbidden = patience.bear(Err::<u8, _>(Refused::Forbidden("no".to_owned())), at(41));
        assert!(forbidden.is_err(), "that is an answer");
    }
}
