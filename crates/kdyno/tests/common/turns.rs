//! Whose turn it is among the tests of one program.

use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURNS: RwLock<()> = RwLock::new(());
/// Tests that run together with others now.
static AT_WORK: Mutex<usize> = Mutex::new(0);
static ONE_ENDED: Condvar = Condvar::new();

/// For what loads the machine to its limits, must not wait for a processor, or ends with a run that must be valid. Such tests
/// are in the module `alone` of their program: `cargo xtask test` runs it while no other program runs.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    let is_together = std::env::var_os("KDYNO_TEST_TOGETHER").is_some();
    assert!(!is_together, "a test that must be alone belongs in the module `alone` of its program");
    // A test that failed before has cleaned up behind itself.
    TURNS.write().unwrap_or_else(PoisonError::into_inner)
}

/// For what hardly needs a processor and what a busy host does not change: brokers in the test's own process, a load of some
/// hundred records a second. As many run at once as the program has threads for its tests.
pub fn beside_any() -> RwLockReadGuard<'static, ()> {
    TURNS.read().unwrap_or_else(PoisonError::into_inner)
}

/// For what a busy host delays and does not change: counts, and what happens when something is killed. As many of these run
/// at once as there are processors, however many threads the program has for its tests.
pub fn with_others() -> SharedTurn {
    let places = std::thread::available_parallelism().map_or(1, usize::from);
    let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut at_work =
        ONE_ENDED.wait_while(at_work, |count| *count >= places).unwrap_or_else(PoisonError::into_inner);
    *at_work += 1;
    drop(at_work);
    let place = TurnSlot;
    SharedTurn { turn: TURNS.read().unwrap_or_else(PoisonError::into_inner), _place: place }
}

/// A turn together with others, until it is dropped.
pub struct SharedTurn {
    turn: RwLockReadGuard<'static, ()>,
    _place: TurnSlot,
}

impl SharedTurn {
    /// For a test whose brokers have started and that only waits from now on, for a small load to end: its processors are free
    /// for another test. None that must be alone begins before it has ended.
    pub fn waits(self) -> RwLockReadGuard<'static, ()> {
        self.turn
    }
}

struct TurnSlot;

impl Drop for TurnSlot {
    fn drop(&mut self) {
        *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ONE_ENDED.notify_one();
    }
}
