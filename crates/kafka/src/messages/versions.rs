//! Which version of each API to speak with one broker.

use super::m18_api_versions::{ApiRange, Response};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use thiserror::Error;

/// No version of an API is spoken by both sides.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The broker does not have the API at all.
    #[error("the broker does not offer {api}, of which versions {min} to {max} would do")]
    Unknown {
        /// Name of the API.
        api: &'static str,
        /// Lowest version we speak.
        min: i16,
        /// Highest version we speak.
        max: i16,
    },
    /// The ranges do not overlap.
    #[error(
        "no common version of {api}: the broker speaks {broker_min} to {broker_max}, we speak {min} to {max}"
    )]
    NoOverlap {
        /// Name of the API.
        api: &'static str,
        /// Lowest version the broker speaks.
        broker_min: i16,
        /// Highest version the broker speaks.
        broker_max: i16,
        /// Lowest version we speak.
        min: i16,
        /// Highest version we speak.
        max: i16,
    },
}

/// Version ranges of one broker by API key, as its ApiVersions reply told them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionMap {
    ranges: BTreeMap<i16, (i16, i16)>,
}

impl VersionMap {
    /// From the reply of a broker.
    pub fn new(reply: &Response) -> Self {
        let range = |api: &ApiRange| (api.api_key, (api.version_min, api.version_max));
        Self { ranges: reply.apis.iter().map(range).collect() }
    }

    /// The highest version of an API that lies in the broker's range and in `ours`.
    ///
    /// # Errors
    /// When there is none.
    pub fn negotiate(&self, api_key: i16, ours: RangeInclusive<i16>) -> Result<i16, VersionError> {
        let (api, min, max) = (api_name(api_key), *ours.start(), *ours.end());
        let Some(&(broker_min, broker_max)) = self.ranges.get(&api_key) else {
            return Err(VersionError::Unknown { api, min, max });
        };
        let version = broker_max.min(max);
        if version < broker_min.max(min) {
            return Err(VersionError::NoOverlap { api, broker_min, broker_max, min, max });
        }
        Ok(version)
    }
}

/// Name of an API we know, for messages.
pub fn api_name(api_key: i16) -> &'static str {
    match api_key {
        0 => "Produce",
        1 => "Fetch",
        2 => "ListOffsets",
        3 => "Metadata",
        18 => "ApiVersions",
        19 => "CreateTopics",
        20 => "DeleteTopics",
        22 => "InitProducerId",
        32 => "DescribeConfigs",
        _ => "an API unknown to us",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(api_key: i16, version_min: i16, version_max: i16) -> VersionMap {
        let apis = vec![ApiRange { api_key, version_min, version_max }];
        VersionMap::new(&Response { error: 0.into(), apis })
    }

    #[test]
    fn the_highest_common_version_is_chosen() {
        assert_eq!(map(3, 0, 9).negotiate(3, 4..=12), Ok(9));
        assert_eq!(map(3, 0, 13).negotiate(3, 4..=12), Ok(12));
        assert_eq!(map(3, 4, 4).negotiate(3, 4..=4), Ok(4));
    }

    #[test]
    fn without_a_common_version_the_error_names_both_ranges() {
        let error = map(3, 0, 3).negotiate(3, 4..=12).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no common version of Metadata: the broker speaks 0 to 3, we speak 4 to 12"
        );
        assert!(map(3, 13, 14).negotiate(3, 4..=12).is_err());
        assert!(map(3, 9, 5).negotiate(3, 4..=12).is_err(), "an inverted range offers nothing");
        let error = map(3, 0, 3).negotiate(0, 3..=9).unwrap_err();
        assert_eq!(error.to_string(), "the broker does not offer Produce, of which versions 3 to 9 would do");
    }
}
