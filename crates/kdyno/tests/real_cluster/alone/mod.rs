//! What must be valid, is a matter of rates, or loads the machine: one at a time. They are in a module of their own whose name
//! comes first, since tests begin in the order of their names: one that waits for its turn among the others keeps a
//! processor from them.

mod between_trials;
mod bundled;
mod cpu_limit;
mod duet;
mod health;
mod inside;
mod many_clients;
mod proxy;
mod quota;
mod zones;
