//! ApiVersions (key 18): which versions of each API a broker speaks; the first request on a connection.
//!
//! Versions 0 to 3. Version 1 adds the throttle time, 3 is flexible and names the client software.
//! A broker that does not know the version asked for answers in the form of version 0 with error 35
//! (`UNSUPPORTED_VERSION`) and, since 2.4, the range of ApiVersions it speaks: ask again with version 0.
//! The reply's header is the classic one in every version, so that this can be read at all.
//! <https://kafka.apache.org/protocol#The_Messages_ApiVersions>,
//! [KIP-511](https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers).

use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, Writer};

/// Key of this API.
pub const API_KEY: i16 = 18;
/// Lowest version spoken here.
pub const VERSION_MIN: i16 = 0;
/// Highest version spoken here.
pub const VERSION_MAX: i16 = 3;
/// First version with compact lengths and tagged fields.
pub const FLEXIBLE_FROM: i16 = 3;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Name of the client software: letters, digits, `-` and `.` only, or the broker refuses the request.
    pub software_name: &'a str,
    /// Its version, of the same letters.
    pub software_version: &'a str,
}

/// Appends the request's body.
pub fn encode(request: &Request<'_>, version: i16, out: &mut Vec<u8>) {
    if version >= 3 {
        out.put_string(request.software_name, true);
        out.put_string(request.software_version, true);
        out.put_no_tags(true);
    }
}

/// What the broker speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// `UNSUPPORTED_VERSION` asks for a second try with version 0.
    pub error: ErrorCode,
    /// One range per API.
    pub apis: Vec<ApiRange>,
}

/// Versions of one API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiRange {
    /// Key of the API.
    pub api_key: i16,
    /// Lowest version the broker speaks.
    pub version_min: i16,
    /// Highest version the broker speaks.
    pub version_max: i16,
}

impl Response {
    /// Reads the reply's body, also that in the form of version 0 which refuses `version`.
    ///
    /// # Errors
    /// When the bytes are not such a reply.
    pub fn decode(bytes: &[u8], version: i16) -> Result<Self> {
        let refused = bytes.get(..2) == Some(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
        let version = if refused { 0 } else { version };
        let flexible = version >= FLEXIBLE_FROM;
        let mut reader = Reader::new(bytes);
        let error = ErrorCode(reader.i16()?);
        // Brokers before 2.4 refuse with the error alone.
        if refused && reader.remaining() == 0 {
            return Ok(Self { error, apis: Vec::new() });
        }
        let count = reader.array_length(flexible, 6)?;
        let mut apis = Vec::with_capacity(count);
        for _ in 0..count {
            apis.push(ApiRange {
                api_key: reader.i16()?,
                version_min: reader.i16()?,
                version_max: reader.i16()?,
            });
            reader.skip_tags(flexible)?;
        }
        if version >= 1 {
            reader.i32()?; // throttle time
        }
        reader.skip_tags(flexible)?;
        reader.finish()?;
        Ok(Self { error, apis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_in_the_form_of_version_0() {
        let bytes = [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 3];
        let reply = Response::decode(&bytes, 3).unwrap();
        assert_eq!(reply.error, ErrorCode::UNSUPPORTED_VERSION);
        assert_eq!(reply.apis, [ApiRange { api_key: 18, version_min: 0, version_max: 3 }]);
        assert_eq!(Response::decode(&[0, 35], 3).unwrap().apis, []);
    }
}
