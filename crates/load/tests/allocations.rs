//! The send path allocates nothing per record: in simulated time the same number of batches goes out with few
//! and with many records in each, and the stream asks for memory as often both times. What would have to be
//! formatted, boxed or collected for a record would be allocated hundreds of thousands of times more.
//!
//! A counting allocator sees what the stream does on this thread; net, cluster and test are left out.

mod common;

use common::{Load, MS, Outcome, SECOND, T0, TOPIC, is_stream_at_work, simulate};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, ServicePer, ServiceTime};
use kdyno_model::plan::{Arrivals, Fill, KeyLaw, KeyPlan, Payload, ProducePlan, RecordPlan, ValuesPlan};
use kdyno_model::sample::Timing;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Allocations a batch may cost, twice what it does: its request's list of batches, the handle of its body.
const PER_BATCH_MAX: f64 = 8.0;
/// Allocations that come with larger batches but not with each: lists that grow to their size, once, and the
/// larger histograms of every second.
const GROWTH_MAX: u64 = 200;

struct Counting;

thread_local! {
    /// Blocks the stream requested on this thread, growing one included.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    if is_stream_at_work() {
        // A thread that is being torn down has no counter any more and is not measured.
        let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
    }
}

// SAFETY: every call is handed to the system's allocator unchanged; counting allocates nothing, since the
// thread-locals are initialised at compile time and have no destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts of a load, and how often its stream requested memory.
fn counted(load: &Load, cluster: FakeCluster) -> (Outcome, u64) {
    let before = ALLOCATIONS.get();
    let outcome = simulate(load, cluster);
    outcome.assert_accounted();
    assert_eq!(outcome.counts().acknowledged, outcome.counts().offered, "{:?}", outcome.counts());
    (outcome, ALLOCATIONS.get() - before)
}

/// Equal batches with few and with many records each: as many allocations.
fn assert_none_per_record(what: &str, (few, few_times): (Outcome, u64), (many, many_times): (Outcome, u64)) {
    let (few, many) = (few.counts(), many.counts());
    assert!(few.batches > 1_000, "{what}: {few:?}");
    assert!(few.batches.abs_diff(many.batches) <= few.batches / 20, "{what}: {few:?} {many:?}");
    let more_records = many.offered - few.offered;
    assert!(more_records > 100 * GROWTH_MAX, "{what}: {more_records} records more could hide");
    let reported =
        format!("{what}: {few_times} for {} records, {many_times} for {}", few.offered, many.offered);
    assert!(many_times <= few_times + few_times / 20 + GROWTH_MAX, "{reported}");
    assert!(few_times as f64 <= PER_BATCH_MAX * few.batches as f64, "{reported} in {} batches", few.batches);
}

fn cluster(service: Service) -> FakeCluster {
    FakeCluster::new(FakeConfig::new(1).topic(TOPIC, 1).service(service))
}

/// Batches that are sent when they have lingered for 5 ms, ten seconds of them.
fn lingering(per_s: f64, change: impl FnOnce(&mut ProducePlan)) -> (Outcome, u64) {
    let mut load = Load::open(per_s, Arrivals::Constant).with(|plan| {
        plan.client.linger_ns = 5 * MS;
        plan.client.batch_bytes = 1 << 20;
        plan.client.buffer_bytes = 256 << 20;
    });
    load.tick_ns = 200_000;
    counted(&load.with(change), cluster(Service::Fixed { delay_ns: MS }))
}

#[test]
fn an_open_loop_allocates_nothing_per_record() {
    for payload in [Payload::Pooled { pool_bytes: 0 }, Payload::Unique] {
        let what = format!("{payload:?}");
        let run = |per_s| lingering(per_s, |plan| plan.payload = payload);
        // 50 and 500 records in a batch.
        assert_none_per_record(&what, run(10_000.0), run(100_000.0));
    }
}

/// Records that differ cost no more: their keys and sizes are drawn into memory that is used again.
#[test]
fn records_that_are_drawn_allocate_nothing_each() {
    let key = Some(KeyPlan::Numbered { law: KeyLaw::Zipf { exponent: 1.0 }, of: 1_000, bytes: 8 });
    let sizes = ValuesPlan::Uniform { bytes_min: 90, bytes_max: 110 };
    for values in [ValuesPlan::Fixed, sizes] {
        let records = RecordPlan { key: key.clone(), values, ..RecordPlan::default() };
        let what = format!("{records:?}");
        let run = |per_s| {
            lingering(per_s, |plan| {
                (plan.payload, plan.records) = (Payload::Unique, records.clone());
            })
        };
        assert_none_per_record(&what, run(10_000.0), run(100_000.0));
    }
}

/// Records that wait outside a full buffer cost no more.
#[test]
fn a_backlog_allocates_nothing_per_record() {
    let run = |per_s| {
        let mut load = Load::open(per_s, Arrivals::Poisson).with(|plan| {
            plan.client.linger_ns = 5 * MS;
            // Five batches are in flight while nothing is answered, a sixth fills; the rest waits outside.
            plan.client.batch_bytes = 64 << 10;
            plan.client.buffer_bytes = 6 * (64 << 10);
        });
        load.tick_ns = 200_000;
        let mut cluster = cluster(Service::Fixed { delay_ns: MS });
        cluster.script().at(T0 + SECOND).stall(0, 250 * MS);
        let counted = counted(&load, cluster);
        assert!(counted.0.histogram(Timing::Block).max() > 100 * MS, "records waited outside");
        counted
    };
    assert_none_per_record("backlog", run(10_000.0), run(100_000.0));
}

#[test]
fn a_closed_loop_allocates_nothing_per_record() {
    for fill in [Fill::Buffer, Fill::InFlight] {
        let run = |batch_bytes| {
            let load = Load::max(fill).with(|plan| {
                plan.client.batch_bytes = batch_bytes;
                plan.client.buffer_bytes = 16 * u64::from(batch_bytes);
            });
            // As many requests, however large.
            let time = ServiceTime::Constant { time_ns: 5 * MS };
            counted(&load, cluster(Service::Queue { per: ServicePer::Request, time }))
        };
        // About 9 and 150 records in a batch.
        assert_none_per_record(&format!("{fill:?}"), run(1 << 10), run(16 << 10));
    }
}
