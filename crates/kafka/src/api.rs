//! The APIs a client uses: key, name and the versions we speak.

use crate::messages::{
    api_name, m00_produce, m01_fetch, m02_list_offsets, m03_metadata, m18_api_versions, m19_create_topics,
    m20_delete_topics, m32_describe_configs, response_header,
};
use crate::wire::{Reader, WireError};

/// An API of the protocol, as far as we speak it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// The number in the request's header.
    pub key: i16,
    /// Lowest version we speak.
    pub version_min: i16,
    /// Highest version we speak.
    pub version_max: i16,
    /// First version with compact lengths and tagged fields.
    pub flexible_from: i16,
}

macro_rules! api {
    ($($name:ident $module:ident),*) => {$(
        #[doc = concat!("The API of `", stringify!($module), "`.")]
        pub const $name: Api = Api {
            key: $module::API_KEY,
            version_min: $module::VERSION_MIN,
            version_max: $module::VERSION_MAX,
            flexible_from: $module::FLEXIBLE_FROM,
        };
    )*};
}

api!(
    PRODUCE m00_produce,
    FETCH m01_fetch,
    LIST_OFFSETS m02_list_offsets,
    METADATA m03_metadata,
    API_VERSIONS m18_api_versions,
    CREATE_TOPICS m19_create_topics,
    DELETE_TOPICS m20_delete_topics,
    DESCRIBE_CONFIGS m32_describe_configs
);

impl Api {
    /// Kafka's name of it.
    pub fn name(&self) -> &'static str {
        api_name(self.key)
    }

    /// Whether a version has compact lengths and tagged fields.
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    /// The body of a response's frame.
    ///
    /// # Errors
    /// When the frame is shorter than its header.
    pub fn response_body<'a>(&self, frame: &'a [u8], version: i16) -> Result<&'a [u8], WireError> {
        let mut reader = Reader::new(frame);
        response_header(&mut reader, self.key, self.is_flexible(version))?;
        reader.take(reader.remaining())
    }
}
