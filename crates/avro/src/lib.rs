//! Values made from an Avro schema, as Confluent's serializer frames them: a byte 0, the schema's id in its registry (4 bytes,
//! big-endian), then the value in Avro's binary encoding.
//!
//! Values are random within what the schema says. What else they should be like is in the schema under
//! `arg.properties`, as in Confluent's generator of random Avro (`ksql-datagen` and the Datagen connector read it too);
//! this takes `length`, `range`, `options` and `odds`.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod encode;
mod endings;
mod error;
mod hints;
mod make;
mod random;
mod reading;
mod shape;
#[cfg(test)]
mod tests;
mod values;

pub use error::SchemaError;
pub use values::values;
