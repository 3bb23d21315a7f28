//! Whose turn it is among the tests of one program.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURNS: RwLock<()> = RwLock::new(());

/// For what loads the machine to its limits, must not wait for a processor, or ends with a run that must be valid.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // A test that failed before has cleaned up behind itself.
    TURNS.write().unwrap_or_else(PoisonError::into_inner)
}

/// For what a busy host delays and does not change: counts, and what happens when something is killed. As many of these run
/// at once as there are processors.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURNS.read().unwrap_or_else(PoisonError::into_inner)
}
