//! When the load of a consuming stream ends by what there is to be read: after so many records, or when none came for so
//! long. Also when a stream that came late had read all that there was.

use kdyno_model::plan::ConsumePlan;
use kdyno_model::sample::CaughtUp;

/// How often a stream that came late looks whether it has caught up, ns: its lag is a sum over all of its partitions.
const LOOK_NS: u64 = 10_000_000;

/// What is known of that.
#[derive(Debug)]
pub(crate) struct ConsumeEnding {
    records_max: Option<u64>,
    idle_ns: Option<u64>,
    /// Records that its clients were handed.
    handed: u64,
    /// When they were handed one last, ns, or when the load began; `None`: it has not begun.
    last_ns: Option<u64>,
    /// When it is to look again whether it has caught up, ns.
    next_look_ns: u64,
    /// When it first had, ns, and how many records it had been handed.
    caught_up: Option<(u64, u64)>,
}

impl ConsumeEnding {
    pub(crate) fn new(plan: &ConsumePlan) -> Self {
        Self {
            records_max: plan.records_max,
            idle_ns: plan.idle_ns,
            handed: 0,
            last_ns: None,
            next_look_ns: 0,
            caught_up: None,
        }
    }

    /// Whether it is to look if it has caught up.
    pub(crate) fn is_look_due(&self, now_ns: u64) -> bool {
        self.caught_up.is_none() && self.last_ns.is_some() && now_ns >= self.next_look_ns
    }

    /// So many records are left to read now; `None`: not known. With none it caught up when it was handed the last one.
    pub(crate) fn look(&mut self, now_ns: u64, lag_records: Option<u64>) {
        self.next_look_ns = now_ns.saturating_add(LOOK_NS);
        if lag_records == Some(0) {
            self.caught_up = self.last_ns.map(|last_ns| (last_ns, self.handed));
        }
    }

    /// When it had first caught up, from T0.
    pub(crate) fn caught_up(&self, t0_ns: u64) -> Option<CaughtUp> {
        self.caught_up.map(|(at_ns, records)| CaughtUp { at_ns: at_ns.saturating_sub(t0_ns), records })
    }

    /// The load begins.
    pub(crate) fn begins(&mut self, now_ns: u64) {
        self.last_ns.get_or_insert(now_ns);
    }

    /// It began later than it was thought, and nothing was handed over before.
    pub(crate) fn began(&mut self, at_ns: u64) {
        if self.handed == 0 {
            self.last_ns = Some(at_ns);
        }
    }

    /// Clients were handed so many records now.
    pub(crate) fn handed(&mut self, now_ns: u64, records: u64) {
        if records > 0 {
            self.handed += records;
            self.last_ns = Some(now_ns);
        }
    }

    /// How many records they are still to have.
    pub(crate) fn left(&self) -> Option<u64> {
        Some(self.records_max?.saturating_sub(self.handed))
    }

    /// When it ends unless a record comes, ns.
    pub(crate) fn deadline(&self) -> Option<u64> {
        Some(self.last_ns?.saturating_add(self.idle_ns?))
    }

    /// When it was over that is over by now: with the last of its records, or now.
    pub(crate) fn over_ns(&self, now_ns: u64) -> u64 {
        if self.left() == Some(0) { self.last_ns.unwrap_or(now_ns) } else { now_ns }
    }

    /// Why the load is over by now, if it is, as the end of a sentence.
    pub(crate) fn over(&self, now_ns: u64) -> Option<String> {
        self.last_ns?;
        if self.left() == Some(0) {
            return Some(format!("it consumed {} records", self.handed));
        }
        let idle_ms = self.idle_ns? / 1_000_000;
        (now_ns >= self.deadline()?).then(|| format!("no record came for {idle_ms} ms"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{IsolationLevel, ReadDepth, StartOffset};

    const MS: u64 = 1_000_000;

    fn ending(records_max: Option<u64>, idle_ns: Option<u64>) -> ConsumeEnding {
        ConsumeEnding::new(&ConsumePlan {
            from: StartOffset::Earliest,
            fetch_bytes_max: 1,
            partition_bytes_max: 1,
            fetch_bytes_min: 1,
            fetch_wait_ns: 1,
            request_timeout_ns: 1,
            retry_backoff_ns: 1,
            isolation_level: IsolationLevel::ReadUncommitted,
            rack: String::new(),
            read: ReadDepth::Decode,
            poll_records_max: 500,
            work: None,
            group: None,
            records_max,
            idle_ns,
        })
    }

    #[test]
    fn it_ends_with_enough_records_or_a_long_pause_after_it_began() {
        let mut ending = ending(Some(10), Some(100 * MS));
        assert_eq!((ending.over(900 * MS), ending.deadline(), ending.left()), (None, None, Some(10)));
        ending.begins(1_000 * MS);
        ending.begins(1_050 * MS);
        assert_eq!((ending.over(1_099 * MS), ending.deadline()), (None, Some(1_100 * MS)));
        assert_eq!(ending.over(1_100 * MS).as_deref(), Some("no record came for 100 ms"));
        ending.handed(1_099 * MS, 9);
        ending.handed(1_150 * MS, 0);
        assert_eq!((ending.over(1_198 * MS), ending.deadline()), (None, Some(1_199 * MS)));
        ending.began(5_000 * MS);
        assert_eq!(ending.deadline(), Some(1_199 * MS), "there were records before");
        ending.handed(1_199 * MS, 4);
        assert_eq!(ending.over(1_199 * MS).as_deref(), Some("it consumed 13 records"));
        assert_eq!(ending.over_ns(1_300 * MS), 1_199 * MS, "with the last of them");
    }

    #[test]
    fn it_may_turn_out_to_have_begun_later() {
        let mut ending = ending(None, Some(100 * MS));
        ending.begins(1_000 * MS);
        ending.began(1_400 * MS);
        assert_eq!((ending.deadline(), ending.over_ns(1_600 * MS)), (Some(1_500 * MS), 1_600 * MS));
    }

    #[test]
    fn it_has_caught_up_with_the_last_record_before_an_empty_look() {
        let mut ending = ending(None, None);
        assert!(!ending.is_look_due(900 * MS), "it has not begun");
        ending.begins(1_000 * MS);
        ending.handed(1_300 * MS, 20_000);
        assert!(ending.is_look_due(1_300 * MS));
        ending.look(1_300 * MS, Some(1_000));
        ending.handed(1_304 * MS, 1_000);
        assert!(!ending.is_look_due(1_309 * MS), "not more often than every 10 ms");
        ending.look(1_310 * MS, None);
        // Nothing came since: an answer without records woke it half a second later.
        ending.look(1_810 * MS, Some(0));
        ending.handed(1_900 * MS, 7);
        assert_eq!(ending.caught_up(250 * MS), Some(CaughtUp { at_ns: 1_054 * MS, records: 21_000 }));
        assert!(!ending.is_look_due(u64::MAX), "once is enough");
    }

    #[test]
    fn without_either_it_goes_on() {
        let mut ending = ending(None, None);
        ending.begins(0);
        ending.handed(0, 7);
        assert_eq!((ending.over(u64::MAX), ending.deadline(), ending.left()), (None, None, None));
    }
}
