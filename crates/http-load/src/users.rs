//! Users: in a closed loop each begins its next turn when it has thought; with arrivals turns begin when they are due, and
//! one for which no user is free waits, which is part of what it took.

use crate::client::Clients;
use crate::error::HttpLoadError;
use crate::lines::Lines;
use crate::turn::Step;
use crate::values::{Rows, Values};
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
struct Shared {
    steps: Vec<Step>,
    chain: String,
    rows: Option<Rows>,
    think_ns: (u64, u64),
    lines: Rc<Lines>,
    /// Turns that are due and that nobody has begun, with `per_s`.
    waiting: RefCell<VecDeque<Instant>>,
    is_due: Notify,
    has_arrivals: bool,
}

/// Lets users come and go until it is asked to end.
pub(crate) async fn run(
    plan: &UsersPlan,
    lines: &Rc<Lines>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let clients = Clients::of(&plan.target)?;
    let steps: Result<Vec<Step>, _> = plan.steps.iter().map(|step| Step::of(step, &plan.target)).collect();
    let shared = Rc::new(Shared {
        steps: steps?,
        chain: plan.chain.clone(),
        rows: plan.data.as_deref().map(Rows::read).transpose()?,
        think_ns: plan.think_ns,
        lines: Rc::clone(lines),
        waiting: RefCell::default(),
        is_due: Notify::new(),
        has_arrivals: plan.per_s.is_some(),
    });
    lines.leave_out(Duration::from_nanos(plan.warmup_ns));
    let (mut users, mut begun) = (JoinSet::new(), Vec::new());
    for number in 1..=plan.users {
        let user = User {
            number,
            client: clients.client()?,
            shared: Rc::clone(&shared),
            random: Pcg64::seed_from_u64(plan.seed ^ u64::from(number)),
            turn_began: Rc::default(),
            comes_after: Duration::from_nanos(plan.ramp_ns / u64::from(plan.users) * u64::from(number - 1)),
        };
        begun.push(Rc::clone(&user.turn_began));
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
    let open = begun.iter().filter_map(|began| began.get());
    let open: Vec<Instant> = open.chain(shared.waiting.take()).collect();
    for began in &open {
        lines.request(*began, &shared.chain, false);
    }
    if !open.is_empty() {
        lines.failure(&shared.chain, &format!("{} turns were not done when the load ended", open.len()));
    }
    Ok(())
}

/// Makes turns due by chance, so many per second in the mean, until it is asked to end.
async fn arrive(
    per_s: f64,
    seed: u64,
    shared: &Shared,
    stopped: &mut watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let gaps = Exp::new(per_s)
        .map_err(|error| HttpLoadError::Client(format!("{per_s} turns per second: {error}")))?;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut due = Instant::now();
    loop {
        due += Duration::from_secs_f64(gaps.sample(&mut random));
        tokio::select! {
            () = tokio::time::sleep_until(due.into()) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return Ok(()),
        }
        let mut waiting = shared.waiting.borrow_mut();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(due);
            shared.is_due.notify_one();
        } else {
            shared.lines.request(due, &shared.chain, false);
        }
    }
}

struct User {
    number: u32,
    client: reqwest::Client,
    shared: Rc<Shared>,
    random: Pcg64,
    /// When the turn that it is in began; `None`: it is in none.
    turn_began: Rc<Cell<Option<Instant>>>,
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
            self.turn_began.set(Some(began));
            self.take_turn(turn).await;
            self.turn_began.set(None);
            let (least, most) = self.shared.think_ns;
            let thinks = Duration::from_nanos(self.random.random_range(least..=most));
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(thinks) => {}
            }
        }
    }

    /// When the next turn begins, or was to.
    async fn next_turn(shared: &Shared) -> Instant {
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

    async fn take_turn(&self, turn: u64) {
        let shared = &self.shared;
        let mut values = Values::new();
        if let Some(rows) = &shared.rows {
            rows.add_next(&mut values);
        }
        values.insert("user".to_owned(), self.number.to_string());
        values.insert("turn".to_owned(), turn.to_string());
        let mut is_good = true;
        for step in &shared.steps {
            is_good = step.take(&self.client, &mut values, &shared.lines).await;
            if !is_good {
                break;
            }
        }
        let began = self.turn_began.get().unwrap_or_else(Instant::now);
        shared.lines.request(began, &shared.chain, is_good);
    }
}
