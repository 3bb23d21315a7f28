//! Streams that Kafka's Java client carries, in a Java process of their own for each stream (docs/design/java-driver.md).
//!
//! What is measured stays here: schedule, records, recorder. The process is handed records, or polls, and says when; its
//! [frames](frames) come over a socket pair that the event loop waits for like for any socket.

mod body;
mod consume;
mod consumer;
mod frames;
mod ledger;
mod link;
mod process;
mod produce;
mod producer;
mod readiness;
mod settings;
#[cfg(test)]
mod tests;

use crate::stream::{Stream, StreamContext, StreamError};
use consume::JavaConsumeStream;
use kdyno_model::plan::{ConsumePlan, JavaTask, Payload, ProducePlan, ReadDepth};
use kdyno_model::worker::StreamRole;
use link::JavaLink;
use produce::JavaProduceStream;

/// A stream whose clients are those of a Java process.
///
/// # Errors
/// When the plan wants what the Java client does not carry.
pub fn stream(task: &JavaTask, context: StreamContext) -> Result<Box<dyn Stream>, StreamError> {
    with_link(JavaLink::new(task), context)
}

fn with_link(link: JavaLink, context: StreamContext) -> Result<Box<dyn Stream>, StreamError> {
    if context.java_connection.is_none() {
        return Err(StreamError::NoJavaConnection);
    }
    Ok(match context.task.role.clone() {
        StreamRole::Produce(plan) => {
            check_produce(&plan)?;
            Box::new(JavaProduceStream::new(plan, context, link)?)
        }
        StreamRole::Consume(plan) => {
            check_consume(&plan)?;
            Box::new(JavaConsumeStream::new(plan, context, link))
        }
    })
}

fn check_produce(plan: &ProducePlan) -> Result<(), StreamError> {
    match plan {
        ProducePlan { payload: Payload::Pooled { .. }, .. } => {
            Err(StreamError::NotByJava("pooled payloads: each record is built (`payload: unique`)"))
        }
        _ => Ok(()),
    }
}

fn check_consume(plan: &ConsumePlan) -> Result<(), StreamError> {
    match plan {
        ConsumePlan { work: Some(_), .. } => Err(StreamError::NotByJava("`work`")),
        ConsumePlan { read: ReadDepth::Decode, .. } => Ok(()),
        _ => Err(StreamError::NotByJava("another `read` than `decode`: its application gets every record")),
    }
}
