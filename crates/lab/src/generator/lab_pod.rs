//! A lab that runs in a pod of the cluster: made for one run, reached by port-forwards, removed at its end.

use super::credentials::Identity;
use super::lab_host::{LabAnswer, LabAsk, STAYS, pass};
use super::lab_task::{LabFailure, LabRequest};
use super::resuming::SUSPICION;
use super::session::{self, Arrived, Frame, SILENCE, Watched, Wish, shown};
use super::tls;
use crate::error::LabError;
use kdyno_kubernetes::{AgentIdentity, PodsError, RunningPods, lab_pod};
use kdyno_model::generator::GeneratorPods;
use kdyno_model::secret::Secret;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the agent of a pod that runs may take to listen.
const LISTEN_DEADLINE: Duration = Duration::from_secs(20);

/// From one attempt to the next.
const AGAIN: Duration = Duration::from_millis(500);

/// Gives a connection to its agent: the plain end.
type LabDial = Box<dyn Fn() -> Result<UnixStream, String>>;

/// The pod; removed when dropped.
pub struct LabPod {
    /// `None` in tests of what is said to its agent.
    pods: Option<RunningPods>,
    dial: LabDial,
    token: Secret,
}

impl LabPod {
    /// Makes it and waits until it runs; `say` gets what is waited for.
    ///
    /// # Errors
    /// It does not run. Nothing stays of it.
    pub fn start(
        pods: &GeneratorPods,
        id: u64,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        let Identity { certificate, key, token } = Identity::made()?;
        let config = tls::client(&certificate).map_err(|why| LabError::Agent { why })?;
        let identity = AgentIdentity { certificate, key, token };
        let job = lab_pod::job(pods, id);
        let started = RunningPods::start((&lab_pod::one_of(pods), &[]), (id, job), &identity, stop, say);
        let running = started.map_err(|error| match stop.load(Ordering::Relaxed) {
            true => LabError::Interrupted,
            false => of_pod(&error),
        })?;
        let dial = running.dial(0).map_err(|error| of_pod(&error))?;
        let dial = move || {
            let stream = dial.connect().map_err(|error| error.to_string())?;
            tls::connect(&config, stream).map(|(stream, _)| stream).map_err(|error| error.to_string())
        };
        Ok(Self { pods: Some(running), dial: Box::new(dial), token: identity.token })
    }

    /// Has it run this to its end; `output` gets what it says. Where `stop` is set it is asked to stop. A connection that breaks
    /// has no effect on the run. What stopped the run, unless it went to its end.
    ///
    /// # Errors
    /// It is not reached, or its pod is gone.
    pub fn run(
        &self,
        request: &LabRequest,
        stop: &AtomicBool,
        output: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<LabFailure>, LabError> {
        let request = request.encoded()?;
        let taken = self.insist(LISTEN_DEADLINE, Some(stop), |_| self.send(&request))?;
        if taken != LabAnswer::Taken {
            return Err(unexpected(&taken));
        }
        let mut follower = Follower { from: 0, is_stopped: false, is_silent: false };
        let answer = self.insist(STAYS, None, |heard| {
            let followed = self.follow(&mut follower, heard, stop, output);
            if let Err(why) = &followed
                && !std::mem::replace(&mut follower.is_silent, true)
            {
                let why = shown(why);
                output(format!("warning: the lab is not heard: {why}; its run goes on\n").as_bytes());
            }
            followed
        })?;
        match answer {
            LabAnswer::Ended { failure } => Ok(failure),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes it.
    ///
    /// # Errors
    /// Something may be left.
    pub fn remove(&mut self) -> Result<(), LabError> {
        self.pods.as_mut().map_or(Ok(()), RunningPods::remove).map_err(|error| of_pod(&error))
    }

    /// Tries until there is an answer: one whose pod is gone has none, and one that was not heard for so long. A `stop` that is
    /// set ends the attempts.
    pub(super) fn insist<T>(
        &self,
        patience: Duration,
        stop: Option<&AtomicBool>,
        mut tried: impl FnMut(&mut Instant) -> Result<T, String>,
    ) -> Result<T, LabError> {
        let mut heard = Instant::now();
        loop {
            let why = match tried(&mut heard) {
                Ok(found) => return Ok(found),
                Err(why) => why,
            };
            if is_set(stop) {
                return Err(LabError::Interrupted);
            }
            let gone = self.pods.as_ref().and_then(|pods| pods.dial(0).ok()).and_then(|dial| dial.over());
            if gone.is_some() || heard.elapsed() > patience {
                return Err(lost(&gone.unwrap_or(why)));
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// A connection that asks this.
    pub(super) fn ask(&self, ask: &LabAsk) -> io::Result<Watched<UnixStream>> {
        let stream = (self.dial)().map_err(io::Error::other)?;
        stream.set_write_timeout(Some(SILENCE))?;
        // A run file may have to be made whole before it is sent.
        let silence = if matches!(ask, LabAsk::Output { .. }) { SUSPICION } else { SILENCE };
        let reader = Watched::new(stream.try_clone()?, None).with_silence(silence);
        let greeting = session::greeting(Wish::Begin([0; 16]), self.token.expose());
        (&stream).write_all(greeting.expose())?;
        (&stream).write_all(session::note(ask)?.expose())?;
        Ok(reader)
    }

    fn send(&self, request: &Secret) -> Result<LabAnswer, String> {
        let sent = || {
            let bytes = request.expose().len() as u64;
            let mut reader = self.ask(&LabAsk::Run { bytes })?;
            pass(&mut request.expose(), reader.stream())?;
            answer(&mut reader)
        };
        sent().map_err(|error| error.to_string())
    }

    /// Asks it to stop, on a connection of its own.
    fn stop(&self) -> io::Result<LabAnswer> {
        answer(&mut self.ask(&LabAsk::Stop)?)
    }

    /// Passes on what it says over one connection; its answer at the end.
    fn follow(
        &self,
        follower: &mut Follower,
        heard: &mut Instant,
        stop: &AtomicBool,
        output: &mut dyn FnMut(&[u8]),
    ) -> Result<LabAnswer, String> {
        let failed = |error: io::Error| error.to_string();
        let mut reader = self.ask(&LabAsk::Output { from: follower.from }).map_err(failed)?;
        loop {
            if !follower.is_stopped && stop.load(Ordering::Relaxed) {
                self.stop().map_err(failed)?;
                follower.is_stopped = true;
            }
            let arrived = session::read::<LabAnswer>(&mut reader).map_err(failed)?;
            (*heard, follower.is_silent) = (Instant::now(), false);
            match arrived {
                Some(Arrived::Numbered(_, Frame::Bytes(_, piece))) => {
                    follower.from += piece.expose().len() as u64;
                    output(piece.expose());
                }
                Some(Arrived::Received(_)) => {}
                Some(Arrived::Note(answer)) => return Ok(answer),
                Some(Arrived::Numbered(_, Frame::Message(_))) | None => {
                    return Err("the connection ended".to_owned());
                }
            }
        }
    }
}

/// How far the output of a run was heard.
struct Follower {
    from: u64,
    /// It was asked to stop.
    is_stopped: bool,
    /// It was said that it is not heard.
    is_silent: bool,
}

pub(super) fn is_set(stop: Option<&AtomicBool>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

pub(super) fn answer(reader: &mut Watched<UnixStream>) -> io::Result<LabAnswer> {
    match session::read::<LabAnswer>(reader)? {
        Some(Arrived::Note(answer)) => Ok(answer),
        _ => Err(io::Error::other("it did not answer as a lab does")),
    }
}

fn of_pod(error: &PodsError) -> LabError {
    let hint = Some(error.hint.to_owned()).filter(|hint| !hint.is_empty());
    LabError::Failed { message: format!("the lab's pod: {error}"), hint }
}

fn lost(why: &str) -> LabError {
    LabError::failed(format!("the lab in the pod is lost: {}", shown(why)))
}

pub(super) fn unexpected(answer: &LabAnswer) -> LabError {
    match answer {
        LabAnswer::Refused { why } => LabError::failed(format!("the lab in the pod {}", shown(why))),
        _ => lost("it gave another answer than to what was asked"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::agent::AgentOptions;
    use super::super::lab_task::tests::request;
    use super::super::listen::{SESSIONS_MAX, listen_for_lab};
    use super::*;
    use std::net::{Ipv4Addr, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread::JoinHandle;

    /// An agent that listens, and whose lab is a script with the folder of run files as `$2`.
    pub(in super::super) struct ListeningLab {
        pub(in super::super) dir: tempfile::TempDir,
        stop: Arc<AtomicBool>,
        thread: JoinHandle<Result<(), LabError>>,
        pub(in super::super) pod: LabPod,
        /// A token that is not its own.
        stranger: LabPod,
    }

    pub(in super::super) fn listening(script: &str) -> ListeningLab {
        let dir = tempfile::tempdir().expect("temp dir");
        let at = |name: &str| dir.path().join(name);
        let exe = at("lab");
        std::fs::write(&exe, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&exe, PermissionsExt::from_mode(0o700)).expect("a mode");
        let (runs, identity, temp_dir) = (at("runs"), at("identity"), at("tmp"));
        for folder in [&runs, &temp_dir] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let known_by = Identity::of(&identity).expect("made");
        let stop = Arc::new(AtomicBool::new(false));
        let options =
            AgentOptions { self_exe: exe, temp_dir, stop: Arc::clone(&stop), waits_for_first: None };
        let (tell, listens) = channel();
        let thread = std::thread::spawn(move || {
            let address = (Ipv4Addr::LOCALHOST, 0).into();
            let started = |of: &super::super::Listening| tell.send(of.address).expect("a receiver");
            listen_for_lab(&runs, (address, identity.as_path()), &options, started, &|_| ())
        });
        let address = listens.recv().expect("it listens");
        let pod = |token: &[u8]| {
            let config = tls::client(&known_by.certificate).expect("a certificate");
            let dial = move || {
                let tcp = TcpStream::connect(address).map_err(|error| error.to_string())?;
                tls::connect(&config, tcp).map(|(stream, _)| stream).map_err(|error| error.to_string())
            };
            LabPod { pods: None, dial: Box::new(dial), token: Secret::new(token.to_vec()) }
        };
        let (pod, stranger) = (pod(known_by.token.expose()), pod(b"another token"));
        ListeningLab { dir, stop, thread, pod, stranger }
    }

    impl ListeningLab {
        pub(in super::super) fn end(self) -> PathBuf {
            self.stop.store(true, Ordering::Relaxed);
            self.thread.join().expect("no panic").expect("an orderly end");
            let left = std::fs::read_dir(self.dir.path().join("tmp")).expect("a folder").count();
            assert_eq!(left, 0, "nothing is left");
            self.dir.keep()
        }
    }

    #[test]
    fn output_and_failure_of_a_lab_come_here() {
        let script = "wc -c >$2/size; echo one >&2; sleep 0.5; echo two >&2\n\
                      echo '{\"exit\":130,\"message\":\"interrupted\",\"hint\":null}'";
        let lab = listening(script);
        let mut said = Vec::new();
        let mut output = |piece: &[u8]| said.extend_from_slice(piece);
        let failure = lab.pod.run(&request(), &AtomicBool::new(false), &mut output).expect("an end");
        let wanted = LabFailure { exit: 130, message: "interrupted".to_owned(), hint: None };
        assert_eq!(failure, Some(wanted));
        assert_eq!(String::from_utf8_lossy(&said), "one\ntwo\n");
        // It is asked twice where an answer did not arrive, and runs once.
        assert_eq!(lab.pod.send(&request().encoded().expect("small")), Ok(LabAnswer::Taken));
        let mut heard = Instant::now();
        let mut follower = Follower { from: 4, is_stopped: false, is_silent: false };
        let mut rest = Vec::new();
        let mut output = |piece: &[u8]| rest.extend_from_slice(piece);
        let answer = lab.pod.follow(&mut follower, &mut heard, &AtomicBool::new(false), &mut output);
        assert!(matches!(answer, Ok(LabAnswer::Ended { failure: Some(_) })), "{answer:?}");
        assert_eq!(rest, b"two\n");
        let refused = lab.stranger.ask(&LabAsk::Stop).and_then(|mut reader| super::answer(&mut reader));
        assert!(refused.is_err(), "{refused:?}");
        let folder = lab.end();
        let size = std::fs::read_to_string(folder.join("runs/size")).expect("written");
        assert_eq!(size.trim().parse(), Ok(request().encoded().expect("small").expose().len()));
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_stop_reaches_a_lab_once_and_it_ends_by_itself() {
        let script = "trap 'echo stopped >&2; echo null; exit 0' TERM\n\
                      cat >/dev/null; echo runs >&2; while :; do sleep 0.1; done";
        let lab = listening(script);
        let stop = AtomicBool::new(false);
        let mut said = Vec::new();
        let mut output = |piece: &[u8]| {
            said.extend_from_slice(piece);
            stop.store(true, Ordering::Relaxed);
        };
        let failure = lab.pod.run(&request(), &stop, &mut output).expect("an end");
        assert_eq!(failure, None);
        assert_eq!(String::from_utf8_lossy(&said), "runs\nstopped\n");
        assert_eq!(lab.pod.stop().expect("an answer"), LabAnswer::Taken, "of one that has ended");
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }

    #[test]
    fn a_lab_that_is_stopped_before_it_begins_is_interrupted() {
        let lab = listening("echo starts >&2; exec sleep 60");
        let stop = AtomicBool::new(false);
        let mut output = |_: &[u8]| stop.store(true, Ordering::Relaxed);
        let failure = lab.pod.run(&request(), &stop, &mut output).expect("an end");
        assert_eq!(failure.map(|failure| failure.exit), Some(130));
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }

    #[test]
    fn a_question_too_many_is_asked_again() {
        let lab = listening("cat >/dev/null; echo null");
        let mut held = Vec::new();
        for _ in 0..SESSIONS_MAX {
            let mut reader = lab.pod.ask(&LabAsk::Stop).expect("a connection");
            assert_eq!(super::answer(&mut reader).expect("an answer"), LabAnswer::Taken);
            held.push(reader);
        }
        let sent = lab.pod.send(&request().encoded().expect("small"));
        assert!(sent.is_err(), "{sent:?}");
        drop(held);
        let failure = lab.pod.run(&request(), &AtomicBool::new(false), &mut |_: &[u8]| ()).expect("an end");
        assert_eq!(failure, None);
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }

    #[test]
    fn a_lab_without_a_result_says_how_it_ended() {
        let lab = listening("cat >/dev/null; kill -9 $$");
        let mut nothing = |_: &[u8]| ();
        let failure = lab.pod.run(&request(), &AtomicBool::new(false), &mut nothing).expect("an end");
        let message = failure.expect("a failure").message;
        assert!(message.contains("without a result (signal: 9"), "{message}");
        std::fs::remove_dir_all(lab.end()).expect("removed");
    }

    /// A lab that is reached so.
    pub(in super::super) fn reached_by(dial: impl Fn() -> Result<UnixStream, String> + 'static) -> LabPod {
        LabPod { pods: None, dial: Box::new(dial), token: Secret::new(Vec::new()) }
    }

    #[test]
    fn a_lab_that_is_not_reached_is_not_tried_after_a_stop() {
        let (dir, stop) = (tempfile::tempdir().expect("temp dir"), AtomicBool::new(true));
        let pod = reached_by(|| Err("connection refused".to_owned()));
        let ran = pod.run(&request(), &stop, &mut |_: &[u8]| ());
        assert!(matches!(ran, Err(LabError::Interrupted)));
        let fetched = pod.fetch("a.kdyno", &dir.path().join("a.kdyno"), &mut Vec::new(), Some(&stop));
        assert!(matches!(fetched, Err(LabError::Interrupted)));
    }
}
