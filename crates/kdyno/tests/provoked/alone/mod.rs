//! What must have the host to itself: one at a time, and no other program's tests meanwhile.

mod health;
mod levels;
mod limits;
mod worker;
