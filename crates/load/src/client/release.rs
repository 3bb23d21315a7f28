//! How an open loop hands over records that differ.

use super::ProduceClient;
use super::due::{peek_due, take_due};
use crate::record_times::Admission;
use crate::recorder::Recorder;
use crate::stream::LoadClock;

impl ProduceClient {
    /// Open loop: hands over what has come due by `due_ns`, up to the record that finds no room.
    pub(super) fn release_drawn(
        &mut self,
        due_ns: u64,
        now_ns: u64,
        clock: LoadClock,
        recorder: &mut Recorder,
    ) {
        let (Some(drawn), Some(schedule)) = (&mut self.drawn, &mut self.schedule) else { return };
        while self.limits.room(now_ns) > 0
            && let Some(t0) = peek_due(schedule, due_ns, clock, self.limit_left)
        {
            if !drawn.admit(&mut self.kafka, now_ns, Admission::OnTick, Some(t0)) {
                // From here on the schedule stays at the first record that waits.
                self.due = Some(schedule.clone());
                self.full_ns = now_ns;
                break;
            }
            take_due(schedule, t0, clock, &mut self.limit_left);
            recorder.offered(t0, 1);
            recorder.achieved(t0, 1);
            self.first_ns.get_or_insert(now_ns);
            self.wants_turn |= self.limits.take(1, now_ns, recorder);
        }
        drawn.hand_over(&mut self.kafka, now_ns, Admission::OnTick);
    }

    /// Hands over what waits, as far as there is room.
    pub(super) fn admit_drawn_backlog(&mut self, now_ns: u64, clock: LoadClock, recorder: &mut Recorder) {
        let (Some(drawn), Some(schedule)) = (&mut self.drawn, &mut self.schedule) else { return };
        let admission = Admission::Blocked { since_ns: self.full_ns };
        while self.backlog > 0 && self.limits.room(now_ns) > 0 {
            let t0 = clock.t0_ns + schedule.peek();
            if !drawn.admit(&mut self.kafka, now_ns, admission, Some(t0)) {
                break;
            }
            recorder.achieved(t0, 1);
            schedule.advance();
            self.first_ns.get_or_insert(now_ns);
            self.backlog -= 1;
            self.wants_turn |= self.limits.take(1, now_ns, recorder);
        }
        drawn.hand_over(&mut self.kafka, now_ns, admission);
        if self.backlog == 0 {
            self.due = None;
        }
    }
}
