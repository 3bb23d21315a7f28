//! Which version of each API to speak with one broker.

use super::m18_api_versions::{ApiVersion, Response};
use super::{Api, Message};
use crate::errors::ErrorCode;
use crate::wire::Result as WireResult;
use std::collections::BTreeMap;
use thiserror::Error;

/// No version of an API is spoken by both sides.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApiVersionError {
    /// The broker does not have the API at all.
    #[error("the broker does not offer versions {min} to {max} of {api}")]
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

/// The feature whose level says how transactions are kept.
const TRANSACTION_VERSION: &str = "transaction.version";

/// Version ranges of one broker by API key, as its ApiVersions reply reported them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionMap {
    ranges: BTreeMap<i16, (i16, i16)>,
    transaction_version: i16,
}

impl VersionMap {
    /// From the reply of a broker.
    pub fn new(reply: &Response) -> Self {
        let range = |api: &ApiVersion| (api.api_key, (api.min_version, api.max_version));
        let mut features = reply.finalized_features.iter();
        let of_transactions = features.find(|feature| feature.name == TRANSACTION_VERSION);
        Self {
            ranges: reply.api_keys.iter().map(range).collect(),
            transaction_version: of_transactions.map_or(0, |feature| feature.max_version_level),
        }
    }

    /// The level of the feature `transaction.version` that the cluster has, 0 where none is reported: from 2 on leaders
    /// add partitions to transactions by themselves
    /// ([KIP-890](https://cwiki.apache.org/confluence/display/KAFKA/KIP-890%3A+Transactions+Server-Side+Defense)).
    pub fn transaction_version(&self) -> i16 {
        self.transaction_version
    }

    /// The highest version of an API that both the broker and we speak.
    ///
    /// # Errors
    /// When there is none.
    pub fn negotiate(&self, api: &Api) -> Result<i16, ApiVersionError> {
        let Api { key, name: api, version_min: min, version_max: max, .. } = *api;
        let Some(&(broker_min, broker_max)) = self.ranges.get(&key) else {
            return Err(ApiVersionError::Unknown { api, min, max });
        };
        let version = broker_max.min(max);
        if version < broker_min.max(min) {
            return Err(ApiVersionError::NoOverlap { api, broker_min, broker_max, min, max });
        }
        Ok(version)
    }
}

/// Reads an ApiVersions response. A broker that does not know the requested version answers in the form of
/// version 0 with `UNSUPPORTED_VERSION` and, since 2.4, with the range of ApiVersions it speaks: ask again with
/// version 0.
/// [KIP-511](https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers).
pub(crate) fn read_api_versions(bytes: &[u8], version: i16) -> WireResult<Response> {
    let refused = bytes.get(..2) == Some(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
    if refused && bytes.len() == 2 {
        // Brokers before 2.4 refuse with the error alone.
        return Ok(Response { error_code: ErrorCode::UNSUPPORTED_VERSION, ..Response::default() });
    }
    Response::decode_front(bytes, if refused { 0 } else { version })
}

#[cfg(test)]
mod tests {
    use super::super::Request as _;
    use super::super::m00_produce;
    use super::super::m18_api_versions::Request;
    use super::*;

    const API: Api = Api { key: 3, name: "Metadata", version_min: 4, version_max: 12, flexible_from: 9 };

    fn map(api_key: i16, min_version: i16, max_version: i16) -> VersionMap {
        let api_keys = vec![ApiVersion { api_key, min_version, max_version }];
        VersionMap::new(&Response { api_keys, ..Response::default() })
    }

    #[test]
    fn the_highest_common_version_is_chosen() {
        assert_eq!(map(3, 0, 9).negotiate(&API), Ok(9));
        assert_eq!(map(3, 0, 13).negotiate(&API), Ok(12));
        assert_eq!(map(3, 4, 4).negotiate(&API), Ok(4));
    }

    #[test]
    fn without_a_common_version_the_error_names_both_ranges() {
        let error = map(3, 0, 3).negotiate(&API).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no common version of Metadata: the broker speaks 0 to 3, we speak 4 to 12"
        );
        assert!(map(3, 13, 14).negotiate(&API).is_err());
        assert!(map(3, 9, 5).negotiate(&API).is_err(), "an inverted range offers nothing");
        let error = map(3, 0, 3).negotiate(&m00_produce::API).unwrap_err();
        assert_eq!(error.to_string(), "the broker does not offer versions 3 to 13 of Produce");
    }

    #[test]
    fn a_refusal_of_api_versions_is_read_in_the_form_of_version_0() {
        let bytes = [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 3];
        let reply = Request::decode_response(&bytes, 3).unwrap();
        assert_eq!(reply.error_code, ErrorCode::UNSUPPORTED_VERSION);
        assert_eq!(reply.api_keys, [ApiVersion { api_key: 18, min_version: 0, max_version: 3 }]);
        assert_eq!(Request::decode_response(&[0, 35], 3).unwrap().api_keys, []);
    }
}
