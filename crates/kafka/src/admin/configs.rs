//! What brokers report of themselves: settings in force, features.

use super::types::{ConfigOf, FeatureInfo, SettingInfo, features, setting_info};
use super::{Admin, Result, checked_text};
use crate::messages::{self, m18_api_versions, m32_describe_configs};
use std::collections::BTreeMap;

impl Admin {
    /// Settings of a topic or broker by name: those in force, and those that a broker was given but does not know.
    ///
    /// # Errors
    /// When there is no such topic or broker, or no answer in time.
    pub fn describe_configs(&mut self, of: ConfigOf<'_>) -> Result<BTreeMap<String, SettingInfo>> {
        let (resource_type, node, name) = match of {
            ConfigOf::Topic(name) => (messages::RESOURCE_TYPE_TOPIC, None, name.to_owned()),
            ConfigOf::Broker(id) => (messages::RESOURCE_TYPE_BROKER, Some(id), id.to_string()),
        };
        checked_text("topic name", &name)?;
        self.retry(|admin, deadline| {
            let request = m32_describe_configs::Request::of_resource(resource_type, &name);
            let broker = admin.broker(node, deadline)?;
            let reply = broker.call(&request, deadline)?;
            let mut settings = BTreeMap::new();
            for result in reply.results {
                let (subject, message) = (format!(" of {name:?}"), result.error_message.as_deref());
                broker.check(&m32_describe_configs::API, &subject, result.error_code, message)?;
                settings.extend(result.configs.into_iter().map(setting_info));
            }
            Ok(settings)
        })
    }

    /// The features that a broker supports and that its cluster works with, by name.
    ///
    /// # Errors
    /// When there is no such broker, or no answer in time.
    pub fn features(&mut self, broker: i32) -> Result<Vec<FeatureInfo>> {
        self.retry(|admin, deadline| {
            let broker = admin.broker(Some(broker), deadline)?;
            let reply = broker.call(&m18_api_versions::Request::of_this_client(), deadline)?;
            broker.check(&m18_api_versions::API, "", reply.error_code, None)?;
            Ok(features(&reply))
        })
    }
}
