//! DescribeConfigs (key 32): the settings in force of a topic or a broker.
//!
//! Versions 1 to 4. Version 3 adds types and documentation, 4 is flexible. A broker's settings are asked of
//! that broker, a topic's of any.
//! <https://kafka.apache.org/protocol#The_Messages_DescribeConfigs>.

use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 32;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 1;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 4;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 4;

/// Resource type of a topic.
pub const TOPIC: i8 = 2;
/// Resource type of a broker.
pub const BROKER: i8 = 4;

/// Value type of a setting that the broker was given and does not know.
pub const UNKNOWN: i8 = 0;

/// The resource whose settings are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// [`TOPIC`] or [`BROKER`].
    pub resource_type: i8,
    /// Name of the topic, or the broker's id in digits.
    pub resource_name: &'a str,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    let flexible = version >= FLEXIBLE_FROM;
    out.put_array_length(1, flexible);
    out.put_i8(request.resource_type);
    out.put_string(request.resource_name, flexible);
    if flexible {
        out.put_uvarint(0)
    } else {
        out.put_i32(-1)
    } // all settings
    out.put_no_tags(flexible);
    out.put_bool(false); // synonyms
    if version >= 3 {
        out.put_bool(false); // documentation
    }
    out.put_no_tags(flexible);
}

/// Settings by resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// One entry per resource.
    pub resources: Vec<Resource>,
}

/// Settings of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Why there are none.
    pub error: ErrorCode,
    /// The broker's own words on that.
    pub message: Option<String>,
    /// [`TOPIC`] or [`BROKER`].
    pub resource_type: i8,
    /// Name of the topic, or the broker's id in digits.
    pub resource_name: String,
    /// The settings.
    pub settings: Vec<Setting>,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value; nothing when it has none or is secret.
    pub value: Option<String>,
    /// Where it comes from: 1 topic, 2 to 3 and 6 dynamic, 4 the broker's file, 5 default.
    pub source: i8,
    /// Whether it is secret; a broker takes what it does not know for secret.
    pub sensitive: bool,
    /// Type of its value: [`UNKNOWN`], or that of a setting which the broker knows. Nothing before version 3.
    pub value_type: Option<i8>,
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
        let count = reader.array_length(flexible, 7)?;
        let mut resources = Vec::with_capacity(count);
        for _ in 0..count {
            resources.push(resource(&mut reader, version)?);
        }
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { resources })
    }
}

fn resource(reader: &mut Reader<'_>, version: i16) -> Result<Resource> {
    let flexible = version >= FLEXIBLE_FROM;
    let error = ErrorCode(reader.i16()?);
    let message = reader.nullable_string(flexible)?.map(str::to_owned);
    let resource_type = reader.i8()?;
    let resource_name = reader.string(flexible)?.to_owned();
    let count = reader.array_length(flexible, 7)?;
    let mut settings = Vec::with_capacity(count);
    for _ in 0..count {
        settings.push(setting(reader, version)?);
    }
    reader.skip_tags(flexible)?;
    Ok(Resource { error, message, resource_type, resource_name, settings })
}

fn setting(reader: &mut Reader<'_>, version: i16) -> Result<Setting> {
    let flexible = version >= FLEXIBLE_FROM;
    let name = reader.string(flexible)?.to_owned();
    let value = reader.nullable_string(flexible)?.map(str::to_owned);
    reader.bool()?; // read-only
    let source = reader.i8()?;
    let sensitive = reader.bool()?;
    for _ in 0..reader.array_length(flexible, 4)? {
        reader.string(flexible)?; // name of a synonym
        reader.nullable_string(flexible)?; // its value
        reader.i8()?; // its source
        reader.skip_tags(flexible)?;
    }
    let mut value_type = None;
    if version >= 3 {
        value_type = Some(reader.i8()?);
        reader.nullable_string(flexible)?; // documentation
    }
    reader.skip_tags(flexible)?;
    Ok(Setting { name, value, source, sensitive, value_type })
}
