//! Topics that brokers make when somebody asks for them.

use super::address::Deadline;
use super::error::{AdminError, Result};
use super::types::{TopicInfo, topic_info};
use super::{Admin, BACKOFF, checked_text};
use crate::errors::ErrorCode;
use crate::messages::m03_metadata;
use crate::wire::WireError;
use std::thread;
use std::time::{Duration, Instant};

/// How long a topic that is being made may be unknown to the broker that was asked.
const MAKING_TIME_MAX: Duration = Duration::from_secs(10);

impl Admin {
    /// A topic, requested as Kafka's producers do: brokers that make topics by themselves (`auto.create.topics.enable`)
    /// make it by their defaults, if it is not there. Waits until each of its partitions has a leader; `waiting` is
    /// called once where no broker knows the topic at first.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION` when it is not there and no broker makes it; as [`Self::topics`] otherwise.
    pub fn topic_by_asking(&mut self, name: &str, waiting: &dyn Fn()) -> Result<TopicInfo> {
        checked_text("topic name", name)?;
        let (started, deadline) = (Instant::now(), Deadline::after(self.timeout));
        let mut is_reported = false;
        loop {
            let asked = self.retry_until(deadline, |admin, deadline| admin.ask_for_topic(name, deadline));
            let error = match asked {
                Ok(topic) if topic.partitions.iter().all(|partition| partition.leader >= 0) => {
                    return Ok(topic);
                }
                Ok(topic) if deadline.left() <= BACKOFF => return Ok(topic),
                Ok(_) => None,
                Err(error) => Some(error),
            };
            let is_unknown = |error: &AdminError| error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            if let Some(error) = error {
                if !is_unknown(&error) || started.elapsed() > MAKING_TIME_MAX || deadline.left() <= BACKOFF {
                    return Err(error);
                }
                if !std::mem::replace(&mut is_reported, true) {
                    waiting();
                }
            }
            thread::sleep(BACKOFF);
        }
    }

    fn ask_for_topic(&mut self, name: &str, deadline: Deadline) -> Result<TopicInfo> {
        let asked = self.broker(None, deadline)?;
        let request = m03_metadata::Request {
            allow_auto_topic_creation: true,
            ..m03_metadata::Request::of_topics(Some(&[name]))
        };
        let reply = asked.call(&request, deadline)?;
        let Some(topic) = reply.topics.into_iter().next() else {
            return Err(AdminError::Wire {
                address: asked.address.to_string(),
                api: m03_metadata::API.name,
                source: WireError::Invalid("the topic of the request is missing in the reply"),
            });
        };
        asked.check(&m03_metadata::API, &format!(" of topic {name:?}"), topic.error_code, None)?;
        Ok(topic_info(topic))
    }
}
