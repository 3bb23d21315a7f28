//! Which clients of a stream have something to do, and when: a turn then costs what its active clients cost,
//! however many others sleep.

/// Later than everything: a client that waits for nothing.
const NEVER: u64 = u64::MAX;

/// One instant per client, the earliest first: a binary heap that knows each client's place, so an instant can
/// be moved both ways and the heap never holds more than its clients.
#[derive(Debug)]
pub struct Wakeups {
    /// Per client: when it is to be woken, ns.
    at: Vec<u64>,
    /// Clients; none is due before its parent `(place - 1) / 2`.
    heap: Vec<usize>,
    /// Per client: its place in the heap.
    place: Vec<usize>,
}

impl Wakeups {
    /// Nothing to do for any of `clients`.
    pub fn none(clients: usize) -> Self {
        Self { at: vec![NEVER; clients], heap: (0..clients).collect(), place: (0..clients).collect() }
    }

    /// Wakes a client at an instant, ns, in place of the one set before; `None`: not by time.
    pub fn set(&mut self, client: usize, at_ns: Option<u64>) {
        let at_ns = at_ns.unwrap_or(NEVER);
        let before_ns = std::mem::replace(&mut self.at[client], at_ns);
        if at_ns < before_ns {
            self.rise(self.place[client]);
        } else if at_ns > before_ns {
            self.sink(self.place[client]);
        }
    }

    /// Wakes a client as soon as possible.
    pub fn now(&mut self, client: usize) {
        self.set(client, Some(0));
    }

    /// Wakes every client as soon as possible.
    pub fn all_now(&mut self) {
        // Equal instants are a heap in any order.
        self.at.fill(0);
    }

    /// The earliest instant, ns.
    pub fn next(&self) -> Option<u64> {
        self.heap.first().map(|&client| self.at[client]).filter(|&at_ns| at_ns != NEVER)
    }

    /// A client whose instant has come; it then sleeps until it is set again.
    pub fn take_due(&mut self, now_ns: u64) -> Option<usize> {
        let client = *self.heap.first()?;
        if self.at[client] > now_ns || self.at[client] == NEVER {
            return None;
        }
        self.set(client, None);
        Some(client)
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.at[self.heap[parent]] <= self.at[self.heap[place]] {
                return;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children =
                [2 * place + 1, 2 * place + 2].into_iter().filter(|&child| child < self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.at[self.heap[child]]) else { return };
            if self.at[self.heap[place]] <= self.at[self.heap[least]] {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.place[self.heap[one]] = one;
        self.place[self.heap[other]] = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list that is searched.
        #[test]
        fn clients_wake_at_their_last_instant_in_order(
            steps in prop::collection::vec((0usize..9, prop::option::of(0u64..50), 0u64..60), 0..200),
        ) {
            let mut wakeups = Wakeups::none(9);
            let mut list = [NEVER; 9];
            for (client, at_ns, now_ns) in steps {
                wakeups.set(client, at_ns);
                list[client] = at_ns.unwrap_or(NEVER);
                prop_assert_eq!(wakeups.next(), list.iter().copied().min().filter(|&at| at != NEVER));
                if let Some(woken) = wakeups.take_due(now_ns) {
                    prop_assert_eq!(list[woken], *list.iter().min().expect("nine clients"));
                    prop_assert!(list[woken] <= now_ns);
                    list[woken] = NEVER;
                } else {
                    prop_assert!(list.iter().all(|&at| at > now_ns));
                }
            }
        }
    }

    #[test]
    fn all_wake_once() {
        let mut wakeups = Wakeups::none(5);
        wakeups.set(3, Some(7));
        wakeups.all_now();
        let mut woken: Vec<usize> = std::iter::from_fn(|| wakeups.take_due(0)).collect();
        woken.sort_unstable();
        assert_eq!(woken, [0, 1, 2, 3, 4]);
        assert_eq!(wakeups.next(), None);
    }

    #[test]
    fn no_clients_need_nothing() {
        let mut wakeups = Wakeups::none(0);
        wakeups.all_now();
        assert_eq!((wakeups.next(), wakeups.take_due(u64::MAX)), (None, None));
    }
}
