//! What a run says of itself when something is wrong, each provoked on a real worker: caveats, limits, rules of health, and a
//! comparison that is interrupted. The cluster is a fake one behind real sockets, in the test's own process, with the
//! faults that the test scripts; or the null broker.
//!
//! | caveat | provoked by |
//! |---|---|
//! | lost | `caveats`: acknowledged and not stored |
//! | log unexplained | `caveats`: another program writes into the topic |
//! | log not checked, cut short | `process`: the cluster is gone; `real_cluster::faults` |
//! | queue, queue long | `caveats`: a server that carries four fifths of the load |
//! | generator late | `process`: the worker is stopped for 150 ms and more |
//! | calibration short, thread or worker busy | `alone::worker`: as fast as it goes against the null broker |
//! | waited for a processor | `alone::worker`: the worker shares one processor with two that never sleep |
//! | processor limited | `alone::worker`: a limit on the run's control group, where one can be set |
//! | failures, retries | `caveats`: requests are refused for good, or once |
//! | unresolved | `process`: killed in a stall; `real_cluster::faults` |
//! | cluster changed: moved, left, throttled | `caveats`: one of two brokers ends, the other throttles |
//! | cluster changed: unreachable | `null_broker`: the only broker ends |
//! | cluster changed: out of sync; by a quota | `real_cluster::alone`: `between_trials`, `quota` |
//! | fetch errors | `caveats`: the same, with a reader |
//! | consumer behind | `caveats`: a fetch of one batch takes a tenth of a second |
//! | unsteady, warm-up not settled | `alone::levels`: answers take ten times as long from the middle on |
//! | written not appended, pooled compression, random values, small batches, few records, assigned, closed loop | `caveats`: plans that have it so |
//! | other load, shared processors, unconditioned, process died | `real_cluster::faults` |
//! | memory storage | `real_cluster::alone::between_trials` |
//! | brokers fresh | `real_cluster::logs` |
//! | unknown setting | `real_cluster::evidence` |
//! | page cache absorbed | any short run on a real disk, `first-light` for one; what the host writes back of other programs makes it no test: `analysis` (`caveats`), on readings |
//! | host shared | `null_broker` |
//! | full collection | `null_broker::java`: a signal makes a Java client collect its heap |
//! | pairs lost, pairs unconditioned, these starts only, undeclared difference, evidence of runs | `analysis` (`conclusions`), `stored.rs` |
//! | accounting broken, samples missing | nothing short of a defect of the worker makes them: `analysis` (`caveats`), on rows that lie |
//! | steal | nothing but a hypervisor takes a processor: `analysis` (`caveats`), on readings |
//! | records skipped | a log that is cut off below the reader: `kafka` (`consumer`), on replies |

mod alone;
mod caveats;
#[path = "../common/mod.rs"]
mod common;
mod comparison;
mod fixture;
mod process;
