//! What probes read of processes and the host, and the names of the series they read.

use crate::event::Subject;
use serde::{Deserialize, Serialize};

/// One reading of a resource or metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReading {
    /// ns from T0 (negative: before it).
    pub at_ns: i64,
    /// The process, or the host.
    pub subject: Subject,
    /// Which resource, with its unit: see [`series`].
    pub series: String,
    /// The value. Names that end in `_total` only grow.
    pub value: f64,
}

/// Names of probe series. CPU in seconds since the process (host: the machine) started.
#[allow(missing_docs)]
pub mod series {
    /// Workers of other hosts: how far the monotonic clock there is ahead of the lab's, at T0 as it was found before, and
    /// from then on from one reading to the next.
    pub const CLOCK_OFFSET_S: &str = "clock_offset_s";
    /// How far that may be from the truth.
    pub const CLOCK_BOUND_S: &str = "clock_bound_s";
    /// How fast it went from T0 on, less the lab's, in parts per million: once, at the end.
    pub const CLOCK_DRIFT_PPM: &str = "clock_drift_ppm";
    /// How far that may be from the truth.
    pub const CLOCK_DRIFT_BOUND_PPM: &str = "clock_drift_bound_ppm";
    /// Load items whose records are sent by one clock and consumed by another one: how far their end-to-end latencies may be from
    /// the truth, where they are kept.
    pub const CLOCK_ERROR_S: &str = "clock_error_s";
    pub const CPU_USER_S_TOTAL: &str = "cpu_user_s_total";
    pub const CPU_SYSTEM_S_TOTAL: &str = "cpu_system_s_total";
    /// Workers only: user time of the whole process, read once when it had ended.
    pub const CPU_USER_S_AT_EXIT: &str = "cpu_user_s_at_exit";
    /// Workers only: the same of system time.
    pub const CPU_SYSTEM_S_AT_EXIT: &str = "cpu_system_s_at_exit";
    /// Host only.
    pub const CPU_IOWAIT_S_TOTAL: &str = "cpu_iowait_s_total";
    /// Host only.
    pub const CPU_STEAL_S_TOTAL: &str = "cpu_steal_s_total";
    /// Host only.
    pub const CPU_IDLE_S_TOTAL: &str = "cpu_idle_s_total";
    /// Host only: time that one processor was neither idle nor waiting for a disk, the hypervisor's share included; the
    /// processor's number follows.
    pub const CPU_BUSY_S_TOTAL_OF: &str = "cpu_busy_s_total.";
    pub const MEMORY_RSS_BYTES: &str = "memory_rss_bytes";
    /// Host only.
    pub const MEMORY_TOTAL_BYTES: &str = "memory_total_bytes";
    /// Host only.
    pub const MEMORY_AVAILABLE_BYTES: &str = "memory_available_bytes";
    /// Host only: the page cache, pages of memory-backed storage included.
    pub const MEMORY_CACHED_BYTES: &str = "memory_cached_bytes";
    /// Host only: pages that were changed and are not yet being written.
    pub const MEMORY_DIRTY_BYTES: &str = "memory_dirty_bytes";
    /// Host only: pages that are being written.
    pub const MEMORY_WRITEBACK_BYTES: &str = "memory_writeback_bytes";
    pub const DISK_READ_BYTES_TOTAL: &str = "disk_read_bytes_total";
    pub const DISK_WRITE_BYTES_TOTAL: &str = "disk_write_bytes_total";
    /// Host only: bytes read from one drive, whose name in `/sys/block` follows.
    pub const DISK_READ_BYTES_TOTAL_OF: &str = "disk_read_bytes_total.";
    /// Host only: bytes written to one drive.
    pub const DISK_WRITE_BYTES_TOTAL_OF: &str = "disk_write_bytes_total.";
    /// Host only: reads that one drive has done.
    pub const DISK_READS_TOTAL_OF: &str = "disk_reads_total.";
    /// Host only: writes that one drive has done.
    pub const DISK_WRITES_TOTAL_OF: &str = "disk_writes_total.";
    /// Host only: time that the reads of one drive took, from their queueing on, added up.
    pub const DISK_READ_S_TOTAL_OF: &str = "disk_read_s_total.";
    /// Host only: time that the writes of one drive took, from their queueing on, added up.
    pub const DISK_WRITE_S_TOTAL_OF: &str = "disk_write_s_total.";
    /// Host only: time in which one drive had something to do.
    pub const DISK_BUSY_S_TOTAL_OF: &str = "disk_busy_s_total.";
    /// Host only.
    pub const NET_RECEIVE_BYTES_TOTAL: &str = "net_receive_bytes_total";
    /// Host only.
    pub const NET_TRANSMIT_BYTES_TOTAL: &str = "net_transmit_bytes_total";
    /// Host only: packets that an interface dropped on receipt.
    pub const NET_RECEIVE_DROPPED_TOTAL: &str = "net_receive_dropped_total";
    /// Host only: TCP segments sent, over loopback too, without those sent again.
    pub const TCP_SEGMENTS_SENT_TOTAL: &str = "tcp_segments_sent_total";
    /// Host only: TCP segments sent again.
    pub const TCP_SEGMENTS_RETRANSMITTED_TOTAL: &str = "tcp_segments_retransmitted_total";
    /// Workers only: CPU time of one thread; the thread's name follows, which is that of the load item it
    /// works for, cut off as the kernel does. A second thread of the same name is `NAME#2`.
    pub const THREAD_CPU_S_TOTAL_OF: &str = "thread_cpu_s_total.";
    /// Workers only: time that one thread was ready and waited for a processor; named as [`THREAD_CPU_S_TOTAL_OF`].
    pub const THREAD_RUN_DELAY_S_TOTAL_OF: &str = "thread_run_delay_s_total.";
    /// Processes: time that their threads were ready and waited for a processor.
    pub const RUN_DELAY_S_TOTAL: &str = "run_delay_s_total";
    /// Processes in a cgroup with a limit: time for which that limit held them.
    pub const CPU_THROTTLED_S_TOTAL: &str = "cpu_throttled_s_total";
    /// Host only: time in which at least one task waited for a processor (PSI, some).
    pub const CPU_PRESSURE_S_TOTAL: &str = "cpu_pressure_s_total";
    /// Host only: time in which at least one task waited for a disk (PSI, some).
    pub const IO_PRESSURE_S_TOTAL: &str = "io_pressure_s_total";
    /// Host only: time in which at least one task waited for memory (PSI, some).
    pub const MEMORY_PRESSURE_S_TOTAL: &str = "memory_pressure_s_total";
    /// Topics only: sum of the end offsets of their partitions, read before T0 and after the drain.
    pub const LOG_RECORDS_TOTAL: &str = "log_records_total";
    /// For the other side of a pair that runs at once: start and end of its measure phase, in seconds from the T0 of
    /// the trial that holds the reading.
    pub const MEASURE_START_S: &str = "measure_start_s";
    pub const MEASURE_END_S: &str = "measure_end_s";
    /// Relays only: bytes that it has passed on, by where from and where to, which follow: `A>B`.
    pub const RELAYED_BYTES_TOTAL_OF: &str = "relayed_bytes_total.";
    /// Relays only, of the measure phase, read once when the trial has ended: stretches of bytes that were passed on, without those
    /// that their receiver did not take at once.
    pub const RELAYED_IN_WINDOW: &str = "relayed_in_window";
    /// How much later than the link has it they were passed on, s; the name of the quantile follows.
    pub const RELAY_DELAY_ERROR_S_OF: &str = "relay_delay_error_s.";
    /// Java clients only: CPU time of the process, by itself.
    pub const JVM_CPU_S_TOTAL: &str = "jvm_cpu_s_total";
    /// Java clients only: CPU time of the client threads.
    pub const JVM_THREADS_CPU_S_TOTAL: &str = "jvm_threads_cpu_s_total";
    /// Java clients only: bytes that the client threads allocated on the heap.
    pub const JVM_ALLOCATED_BYTES_TOTAL: &str = "jvm_allocated_bytes_total";
    /// Java clients only: garbage collections.
    pub const JVM_GC_TOTAL: &str = "jvm_gc_total";
    /// Java clients only: time taken by garbage collections.
    pub const JVM_GC_S_TOTAL: &str = "jvm_gc_s_total";
    /// Java clients only: bytes of the heap in use.
    pub const JVM_HEAP_USED_BYTES: &str = "jvm_heap_used_bytes";
    /// Processes: involuntary context switches.
    pub const CONTEXT_SWITCHES_INVOLUNTARY_TOTAL: &str = "context_switches_involuntary_total";
    /// Processes: context switches of threads that waited for something.
    pub const CONTEXT_SWITCHES_VOLUNTARY_TOTAL: &str = "context_switches_voluntary_total";
    /// For [`Subject::Kdyno`](crate::event::Subject::Kdyno): CPU time of the thread that reads the probes.
    pub const PROBES_CPU_S_TOTAL: &str = "probes_cpu_s_total";
    /// JVMs of brokers and controllers, from their logs: pauses for garbage collection since they are watched.
    pub const GC_PAUSES_TOTAL: &str = "gc_pauses_total";
    /// The same: time that these took.
    pub const GC_PAUSE_S_TOTAL: &str = "gc_pause_s_total";
    /// The same: the longest pause since the reading before.
    pub const GC_PAUSE_S_LONGEST: &str = "gc_pause_s_longest";
    /// The same: heap in use after the last collection, of the heap, 0 to 1.
    pub const HEAP_AFTER_GC_SHARE: &str = "heap_after_gc_share";
    /// The same: heap in use after the last collection.
    pub const HEAP_AFTER_GC_BYTES: &str = "heap_after_gc_bytes";
    /// The same, where safepoints are logged: time for which all threads were stopped at safepoints, collections included.
    pub const SAFEPOINT_S_TOTAL: &str = "safepoint_s_total";
    /// Brokers, where stacks were sampled for `alloc`: heap allocated per second of the measured window, read at its end.
    pub const ALLOCATED_BYTES_PER_S_SAMPLED: &str = "allocated_bytes_per_s_sampled";
    /// Brokers and Java processes that run load items, where stacks were sampled for `cpu`: CPU time that the samples
    /// represent, per second of the measured window, read at its end.
    pub const CPU_S_PER_S_SAMPLED: &str = "cpu_s_per_s_sampled";
    /// Java processes that carry load items: the number of the process.
    pub const JVM_PID: &str = "jvm_pid";
    /// Brokers with the agent of our own: time for which it answered requests for metrics, its answer's way included.
    pub const AGENT_ANSWERED_S_TOTAL: &str = "agent_answered_s_total";
    /// Brokers, from their own metrics from here on: bytes of record batches that clients produced to them as leaders.
    pub const BYTES_IN_TOTAL: &str = "bytes_in_total";
    /// Bytes of record batches that consumers fetched from them.
    pub const BYTES_OUT_TOTAL: &str = "bytes_out_total";
    /// Records that clients produced to them as leaders.
    pub const MESSAGES_IN_TOTAL: &str = "messages_in_total";
    /// Requests of one kind that were answered; the kind's name follows, see [`crate::inside::RequestKind`].
    pub const REQUESTS_TOTAL_OF: &str = "requests_total.";
    /// Time that all of these took in one stage, added up; kind and stage follow, `request_s_total.produce.local`, see
    /// [`crate::inside::RequestStage`].
    pub const REQUEST_S_TOTAL_OF: &str = "request_s_total.";
    /// Time for which a request handler was idle, in the mean of all.
    pub const REQUEST_HANDLER_IDLE_S_TOTAL: &str = "request_handler_idle_s_total";
    /// The idle time of a process that is broker and controller, with the mean of the controller's request handlers
    /// added to it.
    pub const REQUEST_HANDLER_IDLE_S_TOTAL_OF_BOTH: &str = "request_handler_idle_s_total_of_both";
    /// Time for which a network processor of one listener was idle, in the mean of all; the listener's name follows.
    pub const NETWORK_PROCESSOR_IDLE_S_TOTAL_OF: &str = "network_processor_idle_s_total.";
    /// Share of the last half minute for which a network processor was idle, in the mean of all, 0 to 1.
    pub const NETWORK_PROCESSOR_IDLE_SHARE: &str = "network_processor_idle_share";
    /// Partitions that a broker leads with fewer replicas in sync than they have; for a topic, as metadata says, those
    /// it has.
    pub const UNDER_REPLICATED_PARTITIONS: &str = "under_replicated_partitions";
    /// Partitions without a leader, as the active controller counts them; others report 0.
    pub const OFFLINE_PARTITIONS: &str = "offline_partitions";
    /// Replicas that left the in-sync replicas of a partition that the broker leads.
    pub const ISR_SHRINKS_TOTAL: &str = "isr_shrinks_total";
    /// Replicas that came back to them.
    pub const ISR_EXPANDS_TOTAL: &str = "isr_expands_total";
    /// Produce requests that wait for other replicas.
    pub const PRODUCE_PURGATORY: &str = "produce_purgatory";
    /// Fetch requests that wait for records.
    pub const FETCH_PURGATORY: &str = "fetch_purgatory";
    /// Times that a log was flushed to its disk.
    pub const LOG_FLUSHES_TOTAL: &str = "log_flushes_total";
    /// Time that these took.
    pub const LOG_FLUSH_S_TOTAL: &str = "log_flush_s_total";
    /// CPU time of the process, user and system, as it reports itself.
    pub const PROCESS_CPU_S_TOTAL: &str = "process_cpu_s_total";
    /// Bytes of the heap in use.
    pub const HEAP_USED_BYTES: &str = "heap_used_bytes";
    /// Brokers, as the admin API reports: bytes of the logs that one keeps, of all topics.
    pub const LOG_BYTES: &str = "log_bytes";
    /// Bytes of the logs of the run's topics.
    pub const RUN_LOG_BYTES: &str = "run_log_bytes";
    /// Topics, as metadata says: replicas that the partition with the fewest has in sync.
    pub const IN_SYNC_REPLICAS_LEAST: &str = "in_sync_replicas_least";
    /// Consumer groups: records between the offsets that they have committed on the run's topics and the ends of the logs.
    pub const COMMITTED_LAG_RECORDS: &str = "committed_lag_records";
    /// The lag in time: how long ago the log was as long as was committed, of the partition that is the farthest
    /// behind.
    pub const COMMITTED_LAG_S: &str = "committed_lag_s";
    /// The lag in time where it is longer than the logs' ends have been read: at least.
    pub const COMMITTED_LAG_S_AT_LEAST: &str = "committed_lag_s_at_least";
    /// Processes: files and sockets open.
    pub const OPEN_FILES: &str = "open_files";
}
