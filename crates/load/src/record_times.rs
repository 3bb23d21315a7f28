//! What is remembered of the records in a batch until their outcome is known: their instants, and what was drawn of them.

use crate::records::Pick;
use kdyno_kafka::producer::RecordData;
use smallvec::SmallVec;

/// Instants of a batch's records, in order.
#[derive(Debug, Default)]
pub struct RecordTimes {
    /// Records that were accepted at the same instant. At the maximum rate a batch has one run, which takes no memory of
    /// its own then.
    pub runs: SmallVec<[AcceptedRecords; 1]>,
    /// t0 of each record of the runs that are not [`Admission::AtOnce`], ns.
    pub intended_ns: Vec<u64>,
    /// What was drawn of each record; nothing where all are alike.
    pub picks: Vec<Pick>,
}

/// Records accepted at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedRecords {
    /// How many records.
    pub count: u32,
    /// t2: when the client accepted them, ns.
    pub accepted_ns: u64,
    /// Where their t0 and t1 lie.
    pub admission: Admission,
}

/// When the records of a run were intended and handed to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A closed loop: t0 = t1 = t2.
    AtOnce,
    /// The client had room when the generator came to them: t1 = t2, t0 is each record's own.
    OnTick,
    /// They waited for room. What came due while there was none has t1 = t0: it waited for room and not for the
    /// generator. What was due before the generator found that there was none has t1 = `since_ns`.
    Blocked {
        /// When the generator found that there was no room, ns.
        since_ns: u64,
    },
}

impl AcceptedRecords {
    /// How many of the instants that records have for themselves are of this run.
    fn own_count(&self) -> usize {
        if self.admission == Admission::AtOnce { 0 } else { self.count as usize }
    }
}

impl RecordData for RecordTimes {
    fn split_off(&mut self, at: u32) -> Self {
        let (mut stay, mut own, mut whole) = (at, 0, 0);
        while let Some(run) = self.runs.get(whole).filter(|run| run.count <= stay) {
            stay -= run.count;
            own += run.own_count();
            whole += 1;
        }
        let mut runs: SmallVec<[AcceptedRecords; 1]> = self.runs.drain(whole..).collect();
        if let Some(divided) = runs.first_mut().filter(|_| stay > 0) {
            let front = AcceptedRecords { count: stay, ..*divided };
            own += front.own_count();
            divided.count -= stay;
            self.runs.push(front);
        }
        let drawn = self.picks.len().min(at as usize);
        Self { runs, intended_ns: self.intended_ns.split_off(own), picks: self.picks.split_off(drawn) }
    }
}

impl RecordTimes {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.intended_ns.clear();
        self.picks.clear();
    }

    /// Adds records that were drawn; their t0 where they are their own.
    pub fn push_drawn(
        &mut self,
        picks: &[Pick],
        accepted_ns: u64,
        admission: Admission,
        intended_ns: &[u64],
    ) {
        self.push_run(picks.len() as u32, accepted_ns, admission);
        self.intended_ns.extend_from_slice(intended_ns);
        self.picks.extend_from_slice(picks);
    }

    /// Adds `count` records; joins the last run when it is of the same instant and kind.
    #[inline]
    pub fn push_run(&mut self, count: u32, accepted_ns: u64, admission: Admission) {
        if let Some(last) = self.runs.last_mut()
            && last.accepted_ns == accepted_ns
            && last.admission == admission
        {
            last.count += count;
            return;
        }
        self.runs.push(AcceptedRecords { count, accepted_ns, admission });
    }

    /// t0 of every record, in order.
    pub fn each_intended_ns(&self) -> impl Iterator<Item = u64> + '_ {
        let mut own = self.intended_ns.iter().copied();
        self.runs.iter().flat_map(|run| (0..run.count).map(|_| *run)).map(move |run| match run.admission {
            Admission::AtOnce => run.accepted_ns,
            _ => own.next().unwrap_or(run.accepted_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_divided_keeps_the_instants_of_every_record() {
        let whole = || {
            let mut times = RecordTimes::default();
            times.push_run(3, 10, Admission::AtOnce);
            times.push_run(2, 20, Admission::OnTick);
            times.push_run(4, 30, Admission::Blocked { since_ns: 25 });
            times.intended_ns.extend([18, 19, 21, 22, 26, 27]);
            times.picks.extend((0..9).map(Pick::numbered));
            times
        };
        let all: Vec<u64> = whole().each_intended_ns().collect();
        for at in 1..9 {
            let mut front = whole();
            let rest = front.split_off(at);
            let parts: Vec<u64> = front.each_intended_ns().chain(rest.each_intended_ns()).collect();
            assert_eq!(parts, all, "divided at {at}");
            let picks: Vec<Pick> = front.picks.iter().chain(&rest.picks).copied().collect();
            assert_eq!((picks, front.picks.len()), (whole().picks, at as usize));
            let count = |times: &RecordTimes| times.runs.iter().map(|run| run.count).sum::<u32>();
            assert_eq!((count(&front), count(&rest)), (at, 9 - at));
            let accepted = |times: &RecordTimes| times.runs.first().map(|run| run.accepted_ns);
            assert_eq!(accepted(&rest), Some([10, 10, 10, 20, 20, 30, 30, 30, 30][at as usize]));
        }
    }
}
