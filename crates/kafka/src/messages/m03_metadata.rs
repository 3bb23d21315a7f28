//! Metadata (key 3): brokers, controller, topics, partitions and who leads them. Any broker answers.
//!
//! Versions 4 to 12. Version 4 can ask without creating topics, 7 tells leader epochs, 9 is flexible,
//! 10 tells topic ids, 12 may leave out a topic's name. With ZooKeeper the controller is the broker that is
//! it; with KRaft any living broker is named, and it forwards what is meant for the controller.
//! <https://kafka.apache.org/protocol#The_Messages_Metadata>.

use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 3;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 4;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 12;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 9;

/// Which topics to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Names; nothing asks for all topics.
    pub topics: Option<&'a [&'a str]>,
    /// Whether a topic that does not exist is created, where brokers are set so.
    pub create_missing: bool,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = version >= FLEXIBLE_FROM;
    match request.topics {
        None if flexible => out.put_uvarint(0),
        None => out.put_i32(-1),
        Some(names) => {
            out.put_array_length(names.len(), flexible);
            for name in names {
                if version >= 10 {
                    out.put(&[0; 16]); // topic id: the name is given instead
                }
                out.put_string(name, flexible);
                out.put_no_tags(flexible);
            }
        }
    }
    out.put_bool(request.create_missing);
    if (8..=10).contains(&version) {
        out.put_bool(false); // authorised operations of the cluster
    }
    if version >= 8 {
        out.put_bool(false); // authorised operations of the topics
    }
    out.put_no_tags(flexible);
}

/// What one broker knows of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Living brokers.
    pub brokers: Vec<Broker>,
    /// Id of the cluster.
    pub cluster_id: Option<String>,
    /// Broker to send changes of topics to; -1 when there is none.
    pub controller_id: i32,
    /// The topics asked for.
    pub topics: Vec<Topic>,
}

/// A broker and where its listener is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Node id.
    pub id: i32,
    /// Host name or address as advertised.
    pub host: String,
    /// Port as advertised.
    pub port: i32,
    /// Rack, if it was given one.
    pub rack: Option<String>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Why it cannot be described.
    pub error: ErrorCode,
    /// Name; only a topic asked for by id can lack it.
    pub name: Option<String>,
    /// Id, all zero before version 10.
    pub topic_id: [u8; 16],
    /// Whether it is one of Kafka's own.
    pub internal: bool,
    /// Its partitions, in any order.
    pub partitions: Vec<Partition>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// `LEADER_NOT_AVAILABLE` for instance.
    pub error: ErrorCode,
    /// Number within the topic.
    pub id: i32,
    /// Broker that leads it; -1 when none does.
    pub leader: i32,
    /// Epoch of that leader; -1 before version 7.
    pub leader_epoch: i32,
    /// Brokers that keep a copy; the first is the preferred leader.
    pub replicas: Vec<i32>,
    /// Those of them that are in sync.
    pub isr: Vec<i32>,
}

impl Response {
    /// Reads the reply's body.
    ///
    /// # Errors
    /// When the bytes are not such a reply.
    pub fn decode(bytes: &[u8], version: i16) -> Result<Self> {
        let flexible = version >= FLEXIBLE_FROM;
        let mut reader = Reader::new(bytes);
        reader.i32()?; // throttle time
        let count = reader.array_length(flexible, 11)?;
        let mut brokers = Vec::with_capacity(count);
        for _ in 0..count {
            brokers.push(broker(&mut reader, flexible)?);
        }
        let cluster_id = reader.nullable_string(flexible)?.map(str::to_owned);
        let controller_id = reader.i32()?;
        let count = reader.array_length(flexible, 9)?;
        let mut topics = Vec::with_capacity(count);
        for _ in 0..count {
            topics.push(topic(&mut reader, version)?);
        }
        if (8..=10).contains(&version) {
            reader.i32()?; // authorised operations of the cluster
        }
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { brokers, cluster_id, controller_id, topics })
    }
}

fn broker(reader: &mut Reader<'_>, flexible: bool) -> Result<Broker> {
    let broker = Broker {
        id: reader.i32()?,
        host: reader.string(flexible)?.to_owned(),
        port: reader.i32()?,
        rack: reader.nullable_string(flexible)?.map(str::to_owned),
    };
    reader.skip_tags(flexible)?;
    Ok(broker)
}

fn topic(reader: &mut Reader<'_>, version: i16) -> Result<Topic> {
    let flexible = version >= FLEXIBLE_FROM;
    let error = ErrorCode(reader.i16()?);
    let name = reader.nullable_string(flexible)?.map(str::to_owned);
    let topic_id = if version >= 10 { reader.uuid()? } else { [0; 16] };
    let internal = reader.bool()?;
    let count = reader.array_length(flexible, 16)?;
    let mut partitions = Vec::with_capacity(count);
    for _ in 0..count {
        partitions.push(partition(reader, version)?);
    }
    if version >= 8 {
        reader.i32()?; // authorised operations of the topic
    }
    reader.skip_tags(flexible)?;
    Ok(Topic { error, name, topic_id, internal, partitions })
}

fn partition(reader: &mut Reader<'_>, version: i16) -> Result<Partition> {
    let flexible = version >= FLEXIBLE_FROM;
    let partition = Partition {
        error: ErrorCode(reader.i16()?),
        id: reader.i32()?,
        leader: reader.i32()?,
        leader_epoch: if version >= 7 { reader.i32()? } else { -1 },
        replicas: node_ids(reader, flexible)?,
        isr: node_ids(reader, flexible)?,
    };
    if version >= 5 {
        let offline = reader.array_length(flexible, size_of::<i32>())?;
        reader.take(offline * size_of::<i32>())?;
    }
    reader.skip_tags(flexible)?;
    Ok(partition)
}

fn node_ids(reader: &mut Reader<'_>, flexible: bool) -> Result<Vec<i32>> {
    let count = reader.array_length(flexible, size_of::<i32>())?;
    (0..count).map(|_| reader.i32()).collect()
}
