//! Users: in a closed loop each begins its next turn when it has thought; with arrivals turns begin when they are due, and
//! one for which no user is free waits, which is part of what it took.

use crate::client::ClientOptions;
use crate::error::HttpLoadError;
use crate::lines::RequestLines;
use crate::turn::PreparedStep;
use crate::values::{FileRows, NamedValues};
use kdyno_model::plan::http_load::UsersPlan;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// Once asked to end: how long turns that have begun may go on. The process is killed 2 s after it was asked.
const GRACE: Duration = Duration::from_millis(1_500);
/// Most turns that may wait for a user: beyond it the system is long lost, and memory would be next.
const WAITING_MAX: usize = 1_000_000;

/// What all users share.
struct UserContext {
    steps: Vec<PreparedStep>,
    chain: String,
    rows: Option<FileRows>,
    think_ns: (u64, u64),
    lines: Rc<RequestLines>,
    /// Turns that are due and that no user has begun, with `per_s`.
    waiting: RefCell<VecDeque<Instant>>,
    is_due: Notify,
    has_arrivals: bool,
}

/// Lets users come and go until it is asked to end.
pub(crate) async fn run(
    plan: &UsersPlan,
    lines: &Rc<RequestLines>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let clients = ClientOptions::of(&plan.target)?;
    let steps: Result<Vec<PreparedStep>, _> =
        plan.steps.iter().map(|step| PreparedStep::of(step, &plan.target)).collect();
    let shared = Rc::new(UserContext {
        steps: steps?,
        chain: plan.chain.clone(),
        rows: plan.data.as_deref().map(FileRows::read).transpose()?,
        think_ns: plan.think_ns,
        lines: Rc::clone(lines),
        waiting: RefCell::default(),
        is_due: Notify::new(),
        has_arrivals: plan.per_s.is_some(),
    });
    lines.leave_out(Duration::from_nanos(plan.warmup_ns));
    let (mut users, mut begun) = (JoinSet::new(), Vec::new());
    for number in 1..=plan.users {
        let open = Rc::<OpenTurn>::default();
        begun.push(Rc::clone(&open));
        let user = User {
            number,
            client: clients.client()?,
            shared: Rc::clone(&shared),
            random: Pcg64::seed_from_u64(plan.seed ^ u64::from(number)),
            open,
            comes_after: Duration::from_nanos(plan.ramp_ns / u64::from(plan.users) * u64::from(number - 1)),
        };
        users.spawn_local(user.live(stopped.clone()));
    }
    if let Some(per_s) = plan.per_s {
        arrive(per_s, plan.seed, &shared, &mut stopped).await?;
    } else {
        // It says nothing before it is to end.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
    let all_done = async { while users.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all_done).await;
    users.abort_all();
    // What has no answer yet would otherwise be forgotten, and the slower an application is the better it would look.
    for (began, step) in begun.iter().filter_map(|open| open.request.get()) {
        lines.request(began, &shared.steps[step].plan.name, false);
    }
    let open = begun.iter().filter_map(|open| open.turn.get());
    let open: Vec<Instant> = open.chain(shared.waiting.take()).collect();
    for began in &open {
        lines.request(*began, &shared.chain, false);
    }
    if !open.is_empty() {
        lines.failure(&shared.chain, &format!("{} turns were not done when the load ended", open.len()));
    }
    Ok(())
}

/// What a user has begun and not done.
#[derive(Default)]
struct OpenTurn {
    /// When its turn began; `None`: it is in none.
    turn: Cell<Option<Instant>>,
    /// When its request was sent, and which step that is; `None`: none is in flight.
    request: Cell<Option<(Instant, usize)>>,
}

/// Makes turns due by chance, so many per second in the mean, until it is asked to end.
async fn arrive(
    per_s: f64,
    seed: u64,
    shared: &UserContext,
    stopped: &mut watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let gaps =
        Exp::new(per_s).map_err(|error| HttpLoadError(format!("{per_s} turns per second: {error}")))?;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut due = Instant::now();
    loop {
        due += Duration::from_secs_f64(gaps.sample(&mut random));
        tokio::select! {
            () = tokio::time::sleep_until(due.into()) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return Ok(()),
        }
        let mut waiting = shared.waiting.borrow_mut();
        if waiting.len() >= WAITING_MAX {
            // One that is left out, or reported as failed at once, would make what waits look shorter.
            let why = format!("{WAITING_MAX} turns wait for a user: `rate` is far above what is answered");
            return Err(HttpLoadError(why));
        }
        waiting.push_back(due);
        shared.is_due.notify_one();
    }
}

struct User {
    number: u32,
    client: reqwest::Client,
    shared: Rc<UserContext>,
    random: Pcg64,
    open: Rc<OpenTurn>,
    comes_after: Duration,
}

impl User {
    async fn live(mut self, mut stopped: watch::Receiver<bool>) {
        tokio::time::sleep(self.comes_after).await;
        let mut turn = 0_u64;
        loop {
            let began = tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => return,
                began = Self::next_turn(&self.shared) => began,
            };
            turn += 1;
            self.open.turn.set(Some(began));
            self.take_turn(began, turn).await;
            self.open.turn.set(None);
            let (least, most) = self.shared.think_ns;
            let thinks = Duration::from_nanos(self.random.random_range(least..=most));
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(thinks) => {}
            }
        }
    }

    /// When the next turn begins, or was to.
    async fn next_turn(shared: &UserContext) -> Instant {
        loop {
            if !shared.has_arrivals {
                return Instant::now();
            }
            if let Some(due) = shared.waiting.borrow_mut().pop_front() {
                return due;
            }
            shared.is_due.notified().await;
        }
    }

    async fn take_turn(&self, began: Instant, turn: u64) {
        let shared = &self.shared;
        let mut values = NamedValues::new();
        if let Some(rows) = &shared.rows {
            rows.add_next(&mut values);
        }
        values.insert("user".to_owned(), self.number.to_string());
        values.insert("turn".to_owned(), turn.to_string());
        let mut is_good = true;
        for (number, step) in shared.steps.iter().enumerate() {
            self.open.request.set(Some((Instant::now(), number)));
            is_good = step.take(&self.client, &mut values, &shared.lines).await;
            self.open.request.set(None);
            if !is_good {
                break;
            }
        }
        shared.lines.request(began, &shared.chain, is_good);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_beyond_the_queue_end_the_load_and_are_not_short_turns() {
        let lines = Rc::new(RequestLines::of(Vec::<u8>::new(), Vec::<u8>::new()));
        let shared = UserContext {
            steps: Vec::new(),
            chain: "turn".to_owned(),
            rows: None,
            think_ns: (0, 0),
            lines,
            waiting: RefCell::new(VecDeque::from(vec![Instant::now(); WAITING_MAX])),
            is_due: Notify::new(),
            has_arrivals: true,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (_end, mut stopped) = watch::channel(false);
        let arrives = async {
            tokio::time::timeout(Duration::from_secs(60), arrive(1_000.0, 7, &shared, &mut stopped)).await
        };
        let ended = runtime.block_on(arrives).expect("it ends by itself");
        let why = ended.expect_err("they are too many").to_string();
        assert!(why.starts_with("1000000 turns wait for a user"), "{why}");
    }
}
