//! The small requests, decoded from whole frames.

use super::{next_array_is_null, topic_name};
use kdyno_kafka::wire::{Reader, Result};

/// Metadata: the topics asked for; `None` asks for all.
pub(crate) fn metadata(mut reader: Reader<'_>, version: i16, flexible: bool) -> Result<Option<Vec<&str>>> {
    let null = next_array_is_null(&reader, flexible)?;
    let count = reader.array_length(flexible, 2)?;
    // Before version 1, which brought null, an empty list asked for all.
    let all = null || (version == 0 && count == 0);
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(topic_name(&mut reader, flexible)?);
        reader.skip_tags(flexible)?;
    }
    if version >= 4 {
        reader.bool()?; // automatic creation
    }
    if version >= 8 {
        reader.bool()?; // authorized operations of the cluster
        reader.bool()?; // and of topics
    }
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok((!all).then_some(names))
}

/// Topics, each with its partitions and the timestamps (-1 latest, -2 earliest) asked for.
pub(crate) type OffsetsWanted<'a> = Vec<(&'a str, Vec<(i32, i64)>)>;

/// ListOffsets.
pub(crate) fn list_offsets(
    mut reader: Reader<'_>,
    version: i16,
    flexible: bool,
) -> Result<OffsetsWanted<'_>> {
    reader.i32()?; // replica id
    if version >= 2 {
        reader.i8()?; // isolation level
    }
    let count = reader.array_length(flexible, 2)?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let name = topic_name(&mut reader, flexible)?;
        let count = reader.array_length(flexible, 12)?;
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            let index = reader.i32()?;
            if version >= 4 {
                reader.i32()?; // leader epoch
            }
            partitions.push((index, reader.i64()?));
            reader.skip_tags(flexible)?;
        }
        reader.skip_tags(flexible)?;
        topics.push((name, partitions));
    }
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok(topics)
}

/// One topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewTopic<'a> {
    pub name: &'a str,
    /// -1: the broker's default, or what the assignments say.
    pub partitions: i32,
    pub replicas: i16,
    /// Partitions that are placed by hand.
    pub assigned: usize,
}

/// CreateTopics: the topics, and whether to check only.
pub(crate) fn create_topics(mut reader: Reader<'_>, flexible: bool) -> Result<(Vec<NewTopic<'_>>, bool)> {
    let count = reader.array_length(flexible, 8)?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let name = topic_name(&mut reader, flexible)?;
        let partitions = reader.i32()?;
        let replicas = reader.i16()?;
        let assigned = reader.array_length(flexible, 5)?;
        for _ in 0..assigned {
            reader.i32()?; // partition
            let brokers = reader.array_length(flexible, 4)?;
            reader.take(brokers * 4)?;
            reader.skip_tags(flexible)?;
        }
        for _ in 0..reader.array_length(flexible, 2)? {
            reader.string(flexible)?;
            reader.nullable_string(flexible)?;
            reader.skip_tags(flexible)?;
        }
        reader.skip_tags(flexible)?;
        topics.push(NewTopic { name, partitions, replicas, assigned });
    }
    reader.i32()?; // timeout
    let check_only = reader.bool()?;
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok((topics, check_only))
}

/// DeleteTopics: the names.
pub(crate) fn delete_topics(mut reader: Reader<'_>, flexible: bool) -> Result<Vec<&str>> {
    let count = reader.array_length(flexible, 1)?;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(topic_name(&mut reader, flexible)?);
    }
    reader.i32()?; // timeout
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok(names)
}

/// DescribeConfigs: kind and name of each resource.
pub(crate) fn describe_configs(
    mut reader: Reader<'_>,
    version: i16,
    flexible: bool,
) -> Result<Vec<(i8, &str)>> {
    let count = reader.array_length(flexible, 3)?;
    let mut resources = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = reader.i8()?;
        let name = reader.string(flexible)?;
        for _ in 0..reader.array_length(flexible, 1)? {
            reader.string(flexible)?;
        }
        reader.skip_tags(flexible)?;
        resources.push((kind, name));
    }
    reader.bool()?; // synonyms
    if version >= 3 {
        reader.bool()?; // documentation
    }
    reader.skip_tags(flexible)?;
    reader.finish()?;
    Ok(resources)
}

/// InitProducerId: reads it to its end; nothing in it matters here.
pub(crate) fn init_producer_id(mut reader: Reader<'_>, version: i16, flexible: bool) -> Result<()> {
    reader.nullable_string(flexible)?; // transactional id
    reader.i32()?; // transaction timeout
    if version >= 3 {
        reader.i64()?; // producer id
        reader.i16()?; // and its epoch
    }
    reader.skip_tags(flexible)?;
    reader.finish()
}

/// ApiVersions: reads it to its end; nothing in it matters here.
pub(crate) fn api_versions(mut reader: Reader<'_>, version: i16) -> Result<()> {
    if version >= 3 {
        reader.string(true)?; // name of the client's software
        reader.string(true)?; // and its version
        reader.skip_tags(true)?;
    }
    reader.finish()
}
