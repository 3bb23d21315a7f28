//! What makes a session outlive its connections: frames have numbers, are kept until the peer has acknowledged them, and are
//! sent again on the next connection. Pure: it is given what came and asked what is to be sent.
//!
//! A connection delivers in order, so a frame that comes again is one that was sent again, and one that is missing means
//! that the connection is of no use.

use super::session::{FRAME_BYTES_MAX, encoded};
use kdyno_model::secret::Secret;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most bytes that are kept for the peer.
pub(super) const KEPT_BYTES_MAX: usize = 64 << 20;

/// So many frames come before the peer learns that they have.
const UNACKNOWLEDGED_MAX: u64 = 16;

/// One side of a session.
#[derive(Default)]
pub(super) struct Delivery {
    /// Number of the last frame that was made; the first one has 1.
    made: u64,
    /// The frames that the peer has not acknowledged, the last one is the last that was made.
    kept: VecDeque<Arc<Secret>>,
    kept_bytes: usize,
    /// Number of the last frame that was sent on this connection, or had come on those before.
    sent: u64,
    /// Bytes of those that come after it.
    unsent_bytes: usize,
    /// Number of the last frame that came.
    received: u64,
    /// The number that the peer was sent last.
    acknowledged: u64,
}

/// What a frame is that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The next one.
    New,
    /// It had come before.
    Again,
    /// One before it has not come.
    Gap,
}

impl Delivery {
    /// Makes the next frame, and keeps it.
    ///
    /// # Errors
    /// One lowercase clause: it is too large, or too much is kept. The session cannot go on.
    pub(super) fn keep(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), String> {
        let number = (self.made + 1).to_be_bytes();
        let parts: Vec<&[u8]> = std::iter::once(&number[..]).chain(parts.iter().copied()).collect();
        let frame = encoded(kind, &parts);
        let bytes = frame.expose().len();
        if bytes > FRAME_BYTES_MAX as usize {
            return Err(format!("a frame of {bytes} bytes is too large to be sent"));
        }
        if self.kept_bytes + bytes > KEPT_BYTES_MAX {
            let mib = KEPT_BYTES_MAX >> 20;
            return Err(format!("more than {mib} MiB waited for the other side to acknowledge them"));
        }
        self.made += 1;
        self.kept_bytes += bytes;
        self.unsent_bytes += bytes;
        self.kept.push_back(Arc::new(frame));
        Ok(())
    }

    /// The frame that is to be sent next on this connection.
    pub(super) fn next_frame(&mut self) -> Option<Arc<Secret>> {
        let at = usize::try_from(self.sent - self.gone()).ok()?;
        let frame = Arc::clone(self.kept.get(at)?);
        self.sent += 1;
        self.unsent_bytes -= frame.expose().len();
        Some(frame)
    }

    /// Bytes that are still to be sent on this connection.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Number of the last frame that is kept no longer.
    fn gone(&self) -> u64 {
        self.made - self.kept.len() as u64
    }

    /// The peer has got all frames up to this number.
    ///
    /// # Errors
    /// One lowercase clause: it cannot have.
    pub(super) fn acknowledged(&mut self, number: u64) -> Result<(), String> {
        if number > self.sent {
            return Err("the other side acknowledged what it was not sent".to_owned());
        }
        while self.gone() < number {
            self.kept_bytes -= self.kept.pop_front().map_or(0, |frame| frame.expose().len());
        }
        Ok(())
    }

    /// A frame has come.
    pub(super) fn take(&mut self, number: u64) -> Taken {
        if number <= self.received {
            return Taken::Again;
        }
        if number > self.received + 1 {
            return Taken::Gap;
        }
        self.received = number;
        Taken::New
    }

    /// Whether the peer should learn of what has come.
    pub(super) fn owes(&self) -> bool {
        self.received - self.acknowledged >= UNACKNOWLEDGED_MAX
    }

    /// Number of the last frame that came, which the peer is sent now.
    pub(super) fn acknowledge(&mut self) -> u64 {
        self.acknowledged = self.received;
        self.received
    }

    /// There is another connection, and on those before it the peer has got all frames up to this number.
    ///
    /// # Errors
    /// One lowercase clause: it cannot have, or has lost what it had acknowledged.
    pub(super) fn resume(&mut self, received: u64) -> Result<(), String> {
        if received < self.gone() || received > self.made {
            return Err("the other side does not go on where the session was".to_owned());
        }
        self.sent = received;
        self.acknowledged(received)?;
        self.unsent_bytes = self.kept_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::{Arrived, BYTES, Frame, ToAgent, read, received};
    use super::*;
    use proptest::prelude::*;

    /// A side, what is under way to it on the connection, and what it has heard.
    #[derive(Default)]
    struct Side {
        delivery: Delivery,
        coming: VecDeque<Vec<u8>>,
        said: Vec<u32>,
        heard: Vec<u32>,
        /// It knows that its connection is of no use.
        is_broken: bool,
    }

    impl Side {
        fn say(&mut self) {
            let what = u32::try_from(self.said.len()).expect("few");
            self.delivery.keep(BYTES, &[&[0, 0], &what.to_be_bytes()]).expect("little");
            self.said.push(what);
        }

        /// Sends its next frame, or what has come.
        fn send(&mut self, to: &mut VecDeque<Vec<u8>>) {
            if self.is_broken {
                return;
            }
            let frame = self.delivery.next_frame().map(|frame| frame.expose().to_vec());
            to.push_back(frame.unwrap_or_else(|| received(self.delivery.acknowledge()).expose().to_vec()));
        }

        /// Hears one frame.
        fn hear(&mut self) {
            let Some(bytes) = self.coming.pop_front().filter(|_| !self.is_broken) else { return };
            match read::<ToAgent>(&mut bytes.as_slice()).expect("a frame").expect("a frame") {
                Arrived::Received(number) => self.is_broken |= self.delivery.acknowledged(number).is_err(),
                Arrived::Numbered(number, Frame::Bytes(_, what)) => match self.delivery.take(number) {
                    Taken::New => {
                        let what = what.expose().try_into().expect("four bytes");
                        self.heard.push(u32::from_be_bytes(what));
                    }
                    Taken::Again => {}
                    Taken::Gap => self.is_broken = true,
                },
                _ => panic!("not sent"),
            }
        }
    }

    /// What happens next; the number is the side.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Say(usize),
        Send(usize),
        Hear(usize),
        /// The connection loses what comes next, and with it its use.
        Drop(usize),
        /// It brings the next frame twice.
        Twice(usize),
        /// This side sees that it has broken; the other one does not.
        HalfOpen(usize),
        /// It breaks, and what was under way is lost; there is another one.
        Reconnect,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let side = || 0usize..2;
        let step = prop_oneof![
            8 => side().prop_map(Step::Say),
            8 => side().prop_map(Step::Send),
            8 => side().prop_map(Step::Hear),
            1 => side().prop_map(Step::Drop),
            1 => side().prop_map(Step::Twice),
            1 => side().prop_map(Step::HalfOpen),
            1 => Just(Step::Reconnect),
        ];
        prop::collection::vec(step, 0..300)
    }

    /// Both say what has come, and go on from there.
    fn reconnect(sides: &mut [Side; 2]) {
        let came = [0, 1].map(|side: usize| sides[side].delivery.acknowledge());
        for (side, came) in sides.iter_mut().zip([came[1], came[0]]) {
            side.coming.clear();
            side.is_broken = false;
            side.delivery.resume(came).expect("it goes on");
        }
    }

    fn send(sides: &mut [Side; 2], from: usize) {
        let [a, b] = sides;
        let (from, to) = if from == 0 { (a, b) } else { (b, a) };
        from.send(&mut to.coming);
    }

    proptest! {
        #[test]
        fn each_frame_is_heard_once_and_in_order_over_any_connections(steps in steps()) {
            let mut sides = [Side::default(), Side::default()];
            for step in steps {
                match step {
                    Step::Say(side) => sides[side].say(),
                    Step::Send(side) => send(&mut sides, side),
                    Step::Hear(side) => sides[side].hear(),
                    Step::Drop(side) => drop(sides[side].coming.pop_front()),
                    Step::Twice(side) => {
                        let next = sides[side].coming.front().cloned();
                        next.into_iter().for_each(|frame| sides[side].coming.push_front(frame));
                    }
                    Step::HalfOpen(side) => sides[side].is_broken = true,
                    Step::Reconnect => reconnect(&mut sides),
                }
                for (side, other) in [(0, 1), (1, 0)] {
                    prop_assert!(sides[other].said.starts_with(&sides[side].heard));
                }
            }
            reconnect(&mut sides);
            // All that is kept, and then what has come of it.
            let most = sides.iter().map(|side| side.said.len()).max().unwrap_or(0) + 1;
            for _ in 0..most {
                for side in [0, 1] {
                    send(&mut sides, side);
                    sides[1 - side].hear();
                }
            }
            for (side, other) in [(0, 1), (1, 0)] {
                prop_assert_eq!(&sides[side].heard, &sides[other].said);
            }
            reconnect(&mut sides);
            for side in &sides {
                let left = (side.delivery.kept.len(), side.delivery.kept_bytes, side.delivery.unsent_bytes);
                prop_assert_eq!(left, (0, 0, 0));
            }
        }
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut delivery = Delivery::default();
        let piece = vec![0u8; 512 << 10];
        let mut kept = 0;
        let why = loop {
            match delivery.keep(BYTES, &[&piece]) {
                Ok(()) => kept += 1,
                Err(why) => break why,
            }
        };
        assert_eq!(
            (kept, why.as_str()),
            (127, "more than 64 MiB waited for the other side to acknowledge them")
        );
        let large = delivery.keep(BYTES, &[&vec![0u8; 1 << 20]]).expect_err("too large");
        assert!(large.contains("too large"), "{large}");
        // Sent is not acknowledged, and what is acknowledged makes room.
        while delivery.next_frame().is_some() {}
        assert_eq!(delivery.unsent_bytes(), 0);
        assert!(delivery.keep(BYTES, &[&piece]).is_err());
        delivery.acknowledged(1).expect("sent");
        delivery.keep(BYTES, &[&piece]).expect("room");
    }

    #[test]
    fn a_side_that_lies_about_what_came_is_refused() {
        let mut delivery = Delivery::default();
        delivery.keep(BYTES, &[&[0, 0]]).expect("little");
        delivery.keep(BYTES, &[&[0, 0]]).expect("little");
        assert!(delivery.next_frame().is_some());
        assert!(delivery.acknowledged(2).is_err(), "one was sent");
        delivery.acknowledged(1).expect("sent");
        assert!(delivery.resume(0).is_err(), "it had it");
        assert!(delivery.resume(3).is_err(), "two were made");
        delivery.resume(1).expect("where it was");
        assert_eq!(
            (delivery.take(1), delivery.take(1), delivery.take(3)),
            (Taken::New, Taken::Again, Taken::Gap)
        );
    }
}
