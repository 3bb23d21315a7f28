//! What a client has under way at once: requests in flight, records that linger, batches that hold its buffer. All by
//! Little's law: the sum of the times for which each was there, of all the time that there was.

use super::candidates::{ProducingItem, REQUESTS_UNSEEN, evidence, not_judged, percent};
use crate::evidence::{NS_PER_S, Window};
use crate::rows::{ItemRows, TrialRows};
use crate::tally::ratio;
use kdyno_model::conclusion::{LimitEvidence, LimitKind, LimitingDelay};
use kdyno_model::sample::Timing;
use kdyno_model::units;

/// What a declared delay of the way to the brokers has to do with full requests in flight (docs/METHOD.md, What was the
/// limit). `next`: the fullest other resource, and how much of it was used.
pub(super) fn delay(
    trial: &TrialRows<'_>,
    item: &ItemRows<'_>,
    window: Window,
    next: Option<(LimitKind, f64)>,
) -> Option<LimitingDelay> {
    let asked = ProducingItem::of(trial, item, window)?;
    let (round_trip_ns, request_ns) = (asked.round_trip_ns()?, asked.request_ns()?);
    let left_ns = request_ns - round_trip_ns as f64;
    let by_requests = (left_ns > 0.0).then(|| (request_ns / left_ns, None));
    let by_resource = next.filter(|(_, used)| *used > 0.0).map(|(kind, used)| (1.0 / used, Some(kind)));
    let least = by_requests.into_iter().chain(by_resource).min_by(|one, other| one.0.total_cmp(&other.0));
    let (times, then) = least.unzip();
    Some(LimitingDelay { round_trip_ns, request_ns, times, then: then.flatten() })
}

impl ProducingItem<'_> {
    /// How many of something there were on average, if they were there for so long in the window, each for itself and all
    /// together; `None`: that time was not counted.
    fn on_average(&self, all_ns: u64) -> Option<f64> {
        (all_ns > 0).then(|| all_ns as f64 / (self.window.seconds() * NS_PER_S as f64))
    }

    /// For how long a request was in flight, its mean, ns: of all requests alike, however many records each had.
    fn request_ns(&self) -> Option<f64> {
        let counts = &self.item.tally.windowed;
        ratio(counts.in_flight_ns, counts.requests).filter(|ns| *ns > 0.0)
    }

    /// Requests in flight, among those that all connections together may have, or that synchronous clients may, each of
    /// which waits for the one that it sent; and how many these are.
    fn in_flight_share(&self) -> Option<(f64, f64)> {
        let partitions = self.trial.evidence.start.trial.effective.partitions_of_client(self.item.plan);
        let clients = f64::from(self.item.plan.clients);
        let limit = if self.plan.synchronous {
            clients
        } else {
            f64::from(self.plan.client.in_flight_max)
                * clients
                * f64::from(self.brokers()?.min(u32::try_from(partitions).unwrap_or(u32::MAX)))
        };
        let in_flight = self.on_average(self.item.tally.windowed.in_flight_ns)?;
        // A request counts with all of its time where it ends: in a short window those that began before it can add up to more
        // than can be.
        (limit > 0.0).then(|| ((in_flight / limit).min(1.0), limit))
    }

    pub(super) fn requests_in_flight(&self) -> LimitEvidence {
        let kind = LimitKind::RequestsInFlight;
        if self.plan.client.acks == 0 {
            return not_judged(kind, "no answer is waited for");
        }
        if !self.item.plan.driver.shows_requests() {
            return not_judged(kind, REQUESTS_UNSEEN);
        }
        let Some((share, limit)) = self.in_flight_share() else {
            return not_judged(kind, "the time of requests or the number of brokers is not known");
        };
        let (in_flight, limit) = (units::significant(share * limit), units::count(limit));
        let delay = self.delay_in_words().unwrap_or_default();
        evidence(kind, Some(share), format!("{in_flight} requests were in flight, of {limit} at most{delay}"))
    }

    /// The delay that the plan declares for the way to each broker and back, ns. `None`: there is none, some brokers are nearer,
    /// or acknowledgements wait for followers that are across the link too, and how often they do is not known.
    fn round_trip_ns(&self) -> Option<u64> {
        let (zone, zones) = self.zones()?;
        let effective = &self.trial.evidence.start.trial.effective;
        let brokers = effective.system.brokers()?;
        let is_across = (0..brokers).all(|id| zones.of_broker(id) != zone);
        let are_apart = (1..brokers).any(|id| zones.of_broker(id) != zones.of_broker(0));
        let replicas = effective.replicas_max(self.item.plan);
        let waits_for_link =
            zones.between_brokers && are_apart && self.plan.client.acks == -1 && replicas > 1;
        (is_across && !waits_for_link).then_some(2 * zones.link.delay_ns).filter(|ns| *ns > 0)
    }

    /// How much of a request's time it is.
    fn delay_in_words(&self) -> Option<String> {
        let times = [self.round_trip_ns()? as f64, self.request_ns()?];
        let [delay, request] = times.map(units::nanoseconds);
        Some(format!("; each took {request}, {delay} of that by the declared `delay`"))
    }

    /// Which share of their time synchronous clients wait for `linger.ms`, by Little's law; `None`: they are not, or wait for
    /// nothing.
    pub(super) fn linger(&self) -> Option<LimitEvidence> {
        if !self.plan.synchronous
            || self.plan.client.linger_ns == 0
            || !self.item.plan.driver.shows_requests()
        {
            return None;
        }
        let per_s = self.item.tally.windowed.acknowledged as f64 / self.window.seconds();
        let share = per_s * self.mean_s(Timing::Linger)? / f64::from(self.item.plan.clients);
        let linger = units::exact_duration(self.plan.client.linger_ns as f64);
        let detail =
            format!("each client waited {} of the time for `linger.ms` ({linger}) to pass", percent(share));
        Some(evidence(LimitKind::Linger, Some(share), detail))
    }

    pub(super) fn replication(&self) -> LimitEvidence {
        let kind = LimitKind::Replication;
        let replicas = self.trial.evidence.start.trial.effective.replicas_max(self.item.plan);
        if self.plan.client.acks != -1 || replicas < 2 {
            return not_judged(kind, "acknowledgements wait for no follower");
        }
        if !self.item.plan.driver.shows_requests() {
            return not_judged(kind, REQUESTS_UNSEEN);
        }
        let Some(((share, _), request_ns)) = self.in_flight_share().zip(self.request_ns()) else {
            return not_judged(kind, "the time of requests is not known");
        };
        let request = units::nanoseconds(request_ns);
        let detail = format!(
            "an acknowledgement by {replicas} replicas took {request}, leader and followers together"
        );
        evidence(kind, Some(share), detail)
    }

    /// Batches that hold a place of the buffer, by Little's law, of those that fit.
    pub(super) fn client_buffer(&self) -> LimitEvidence {
        let kind = LimitKind::ClientBuffer;
        let client = &self.plan.client;
        if !self.item.plan.driver.shows_requests() {
            return not_judged(kind, "the batches of a Java client are not seen");
        }
        let Some(batches) = self.on_average(self.item.tally.windowed.buffered_ns) else {
            return not_judged(kind, "the time for which batches held it is not known");
        };
        let batch_bytes = f64::from(client.batch_bytes.max(self.plan.value_bytes));
        let buffer_bytes = client.buffer_bytes as f64 * f64::from(self.item.plan.clients);
        let held = batches * batch_bytes;
        let detail = format!("{} were in use, of {}", units::bytes(held), units::bytes(buffer_bytes));
        evidence(kind, (buffer_bytes > 0.0).then(|| held / buffer_bytes), detail)
    }

    /// Mean of a timing, s, of records that were acknowledged: what is left open waits before the client's buffer, too.
    fn mean_s(&self, timing: Timing) -> Option<f64> {
        Some(self.item.latencies.get(&timing)?.mean_of_finished()? / NS_PER_S as f64)
    }
}
