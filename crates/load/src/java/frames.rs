//! What a worker and a Java process say to each other: frames over a socket pair (docs/design/java-driver.md).
//!
//! Big-endian; each a length u32 of what follows, a kind u8, a body. `string`: length u32 and UTF-8; `bytes`: length i32,
//! −1 for null, and the bytes. Nothing that the process says makes the worker allocate more than its frame.

#[cfg(test)]
pub(super) mod tests;
mod transactions;

pub(super) use transactions::{TransactionHow, TransactionOver, TransactionPace};

pub(super) use super::body::FrameError;
use super::body::{BodyReader, be};
use super::settings::{self, JavaSetting};

/// Largest frame that is read, behind its length.
pub(super) const FRAME_BYTES_MAX: usize = 4 << 20;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Settings of all clients of a process.
#[derive(Debug)]
pub(super) struct Task<'a> {
    /// Settings, as the text of a properties file.
    pub settings: &'a str,
    pub topic: &'a str,
    /// Number of the first client among all of the load item's, and how many these are.
    pub numbers: (u32, u32),
    /// For each client: `client.id`, and `group.instance.id` or `transactional.id` or nothing.
    pub clients: &'a [(String, String)],
    pub role: TaskRole,
}

/// What they do.
#[derive(Debug, Clone, Copy)]
pub(super) enum TaskRole {
    Produce {
        /// Each waits for a record's outcome before the next one.
        is_synchronous: bool,
        /// t1 is the t0 of a record, and is written into its trailer, as ns since 1970: this much more, ns.
        stamps: Option<i64>,
        transactions: Option<TransactionPace>,
    },
    Consume {
        is_member: bool,
        is_from_end: bool,
        run_id: u64,
        /// They poll no more once they were handed so many, all together.
        records_max: Option<u64>,
    },
}

/// Appends a whole frame.
pub(super) fn frame(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = begin_frame(out, kind);
    body(out);
    end_frame(out, begin);
}

/// Begins a frame; returns where.
pub(super) fn begin_frame(out: &mut Vec<u8>, kind: u8) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, kind]);
    begin
}

/// Ends the frame that began there.
pub(super) fn end_frame(out: &mut [u8], begin: usize) {
    let bytes = (out.len() - begin - 4) as u32;
    out[begin..begin + 4].copy_from_slice(&bytes.to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Appends `bytes`.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let length = bytes.map_or(-1, |bytes| bytes.len() as i32);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes.unwrap_or_default());
}

/// Appends a header of a record; their number, a u8, comes before the first one.
pub(super) fn put_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    put_string(out, name);
    put_bytes(out, Some(value));
}

/// To the process: what to do.
pub(super) fn task(out: &mut Vec<u8>, task: &Task<'_>) {
    frame(out, 1, |out| {
        put_string(out, task.settings);
        put_string(out, task.topic);
        out.extend_from_slice(&task.numbers.0.to_be_bytes());
        out.extend_from_slice(&task.numbers.1.to_be_bytes());
        out.extend_from_slice(&(task.clients.len() as u32).to_be_bytes());
        for (client_id, own_id) in task.clients {
            put_string(out, client_id);
            put_string(out, own_id);
        }
        match task.role {
            TaskRole::Produce { is_synchronous, stamps, transactions } => {
                out.extend_from_slice(&[0, is_synchronous.into(), stamps.is_some().into()]);
                out.extend_from_slice(&stamps.unwrap_or(0).to_be_bytes());
                transactions::put_pace(out, transactions);
            }
            TaskRole::Consume { is_member, is_from_end, run_id, records_max } => {
                let records_max = records_max.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX));
                out.extend_from_slice(&[1, is_member.into(), is_from_end.into()]);
                out.extend_from_slice(&run_id.to_be_bytes());
                out.extend_from_slice(&records_max.to_be_bytes());
            }
        }
    });
}

/// To the process: begins a frame of records for a client. Records follow, then [`end_records`].
pub(super) fn begin_records(out: &mut Vec<u8>, client: u32) -> usize {
    let begin = begin_frame(out, 2);
    out.extend_from_slice(&client.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    begin
}

/// Begins a record: its client sends it no earlier than at this instant, ns; 0: at once.
#[inline]
pub(super) fn put_due(out: &mut Vec<u8>, due_ns: u64) {
    out.extend_from_slice(&due_ns.to_be_bytes());
}

/// Ends the frame that began there and has so many records.
pub(super) fn end_records(out: &mut [u8], begin: usize, count: u32) {
    out[begin + 9..begin + 13].copy_from_slice(&count.to_be_bytes());
    end_frame(out, begin);
}

/// To the process: of a client's records that come from here on, those that it has not begun with at an instant are
/// dropped.
pub(super) fn until(out: &mut Vec<u8>, client: u32, at_ns: u64) {
    frame(out, 3, |out| {
        out.extend_from_slice(&client.to_be_bytes());
        out.extend_from_slice(&i64::try_from(at_ns).unwrap_or(i64::MAX).to_be_bytes());
    });
}

/// To the process: the token of logins from now on.
pub(super) fn token(out: &mut Vec<u8>, token: &[u8]) {
    frame(out, 4, |out| {
        out.extend_from_slice(&(token.len() as u32).to_be_bytes());
        out.extend_from_slice(token);
    });
}

/// To the process: close the clients, which may take so long, say what they counted, and end.
pub(super) fn end(out: &mut Vec<u8>, milliseconds: u32) {
    frame(out, 5, |out| out.extend_from_slice(&milliseconds.to_be_bytes()));
}

/// To the process: nothing more comes for a client that produces; what lingers is sent.
pub(super) fn flush(out: &mut Vec<u8>, client: u32) {
    frame(out, 6, |out| out.extend_from_slice(&client.to_be_bytes()));
}

/// To the process: consumers fetch from now on.
pub(super) fn begin(out: &mut Vec<u8>) {
    frame(out, 7, |_| {});
}

/// To the process: nothing new comes for consumers, which say when they have what is there now.
pub(super) fn catch_up(out: &mut Vec<u8>) {
    frame(out, 8, |_| {});
}

/// What the process says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FromJava<'a> {
    /// Its first frame.
    Hello { at_ns: u64, java: &'a str, client: &'a str, commit: &'a str },
    /// A client knows the topic; a consumer that shares nothing also where it begins.
    Ready { client: u32, began_ns: u64, ready_ns: u64, partitions: u32 },
    /// What became of a client's records.
    Outcomes { client: u32, taken: Taken<'a>, outcomes: Outcomes<'a> },
    /// A reason that outcomes have from now on.
    Reason { number: u16, name: &'a str },
    /// What a poll returned.
    Consumed { client: u32, at_ns: u64, records: ConsumedRecords<'a> },
    /// Records between a client and the end of its logs; `None`: it does not know.
    Lag { client: u32, records: Option<u64> },
    /// What the process has cost until now; `None`: it does not know.
    Readings(JavaCost),
    /// Something that happened.
    Event { at_ns: u64, kind: u8, text: &'a str },
    /// What a client counted of itself.
    Metrics { client: u32, text: &'a str },
    /// It cannot go on.
    Failed { kind: u8, text: &'a str },
    /// All clients are closed.
    Ended,
    /// What a member of a group gained or lost.
    Assignment { client: u32, at_ns: u64, change: OwnershipChange, generation: i32, partitions: Vec<i32> },
    /// A consumer has what there was.
    CaughtUp { client: u32 },
    /// With which settings the clients run.
    Settings(Vec<JavaSetting<'a>>),
    /// A transaction of a client is over.
    Transaction { client: u32, ended: TransactionOver<'a> },
}

/// What a Java process has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JavaCost {
    pub at_ns: u64,
    pub cpu_ns: Option<u64>,
    /// CPU time of the client threads alone.
    pub threads_cpu_ns: Option<u64>,
    pub allocated_bytes: Option<u64>,
    pub collections: Option<u64>,
    pub collections_ns: Option<u64>,
    pub heap_bytes: Option<u64>,
}

/// How partitions change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnershipChange {
    Gained,
    GivenUp,
    Lost,
}

/// Bytes of items of one size.
macro_rules! items {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $item:ty, $read:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) struct $name<'a>(&'a [u8]);

        impl $name<'_> {
            /// Bytes of one.
            const BYTES: usize = $bytes;

            /// Them, in order.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = $item> + '_ {
                let (items, _) = self.0.as_chunks::<$bytes>();
                items.iter().map($read)
            }
        }
    };
}

/// t1 and t2 of the record that a client took next; t1 is 0: it was dropped; t2 is 0: `send()` refused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TakenRecord {
    pub handed_ns: u64,
    pub accepted_ns: u64,
}

/// What became of a record; reason 0: it was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordOutcome {
    pub number: u64,
    pub known_ns: u64,
    pub reason: u16,
}

/// A record that a poll returned; `intended_ns` is on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConsumedRecord {
    pub partition: i32,
    pub offset: i64,
    pub bytes: u32,
    pub intended_ns: Option<i64>,
}

items!(
    /// Records that a client took, in order.
    Taken,
    16,
    TakenRecord,
    |item| TakenRecord {
        handed_ns: u64::from_be_bytes(be(item, 0)),
        accepted_ns: u64::from_be_bytes(be(item, 8)),
    }
);

items!(
    /// What became of records, in any order.
    Outcomes,
    18,
    RecordOutcome,
    |item| RecordOutcome {
        number: u64::from_be_bytes(be(item, 0)),
        known_ns: u64::from_be_bytes(be(item, 8)),
        reason: u16::from_be_bytes(be(item, 16)),
    }
);

items!(
    /// Records of a poll, in the order in which the application has them.
    ConsumedRecords,
    24,
    ConsumedRecord,
    |item| ConsumedRecord {
        partition: i32::from_be_bytes(be(item, 0)),
        offset: i64::from_be_bytes(be(item, 4)),
        bytes: u32::from_be_bytes(be(item, 12)),
        intended_ns: Some(i64::from_be_bytes(be(item, 16))).filter(|ns| *ns != i64::MIN),
    }
);

/// Reads one frame, its length left out.
pub(super) fn read(frame: &[u8]) -> Result<FromJava<'_>, FrameError> {
    let mut body = BodyReader(frame);
    let found = match body.u8()? {
        1 => FromJava::Hello {
            at_ns: body.u64()?,
            java: body.string()?,
            client: body.string()?,
            commit: body.string()?,
        },
        2 => FromJava::Ready {
            client: body.u32()?,
            began_ns: body.u64()?,
            ready_ns: body.u64()?,
            partitions: body.u32()?,
        },
        3 => FromJava::Outcomes {
            client: body.u32()?,
            taken: Taken(body.items(Taken::BYTES)?),
            outcomes: Outcomes(body.items(Outcomes::BYTES)?),
        },
        4 => FromJava::Reason { number: body.u16()?, name: body.string()? },
        5 => FromJava::Consumed {
            client: body.u32()?,
            at_ns: body.u64()?,
            records: ConsumedRecords(body.items(ConsumedRecords::BYTES)?),
        },
        6 => FromJava::Lag { client: body.u32()?, records: body.known()? },
        7 => FromJava::Readings(JavaCost {
            at_ns: body.u64()?,
            cpu_ns: body.known()?,
            threads_cpu_ns: body.known()?,
            allocated_bytes: body.known()?,
            collections: body.known()?,
            collections_ns: body.known()?,
            heap_bytes: body.known()?,
        }),
        8 => FromJava::Event { at_ns: body.u64()?, kind: body.u8()?, text: body.string()? },
        9 => FromJava::Metrics { client: body.u32()?, text: body.string()? },
        10 => FromJava::Failed { kind: body.u8()?, text: body.string()? },
        11 => FromJava::Ended,
        12 => FromJava::Assignment {
            client: body.u32()?,
            at_ns: body.u64()?,
            change: match body.u8()? {
                0 => OwnershipChange::Gained,
                1 => OwnershipChange::GivenUp,
                2 => OwnershipChange::Lost,
                _ => return Err(FrameError("partitions that change hands in an unknown way")),
            },
            generation: body.i32()?,
            partitions: body
                .items(4)?
                .as_chunks()
                .0
                .iter()
                .map(|number| i32::from_be_bytes(*number))
                .collect(),
        },
        13 => FromJava::CaughtUp { client: body.u32()? },
        14 => FromJava::Settings(settings::read(&mut body)?),
        15 => {
            let (client, ended) = transactions::read(&mut body)?;
            FromJava::Transaction { client, ended }
        }
        _ => return Err(FrameError("a frame of an unknown kind")),
    };
    if body.0.is_empty() { Ok(found) } else { Err(FrameError("a frame that goes on behind its end")) }
}

/// Cuts a stream of bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// Up to here frames were taken.
    taken: usize,
    /// Up to here there are bytes.
    filled: usize,
}

impl Decoder {
    /// Room for what comes next; say with [`Self::filled`] how much came.
    pub fn room(&mut self) -> &mut [u8] {
        if self.taken > 0 {
            self.bytes.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        if self.bytes.len() < self.filled + READ_BYTES {
            self.bytes.resize(self.filled + READ_BYTES, 0);
        }
        &mut self.bytes[self.filled..]
    }

    /// So many bytes came into the room.
    pub fn filled(&mut self, bytes: usize) {
        self.filled += bytes;
    }

    /// The next whole frame, its length left out.
    pub fn take(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let Some(length) = self.bytes[self.taken..self.filled].first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(FrameError("a frame that is too long"));
        }
        let begin = self.taken + 4;
        if self.filled < begin + length {
            return Ok(None);
        }
        self.taken = begin + length;
        Ok(Some(&self.bytes[begin..begin + length]))
    }
}
