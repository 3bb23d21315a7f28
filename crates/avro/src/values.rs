//! All values of a schema.

use crate::error::SchemaError;
use crate::make::Maker;
use crate::random::Random;
use crate::shape::Shapes;

/// Most values that are made of a schema.
pub(crate) const COUNT_MAX: usize = 1 << 16;
/// What making all of them may come to, in bytes and in parts that have none; one value may go beyond it.
pub(crate) const ALL_MAX: usize = 16 << 20;
/// The same of one value.
const ONE_MAX: usize = 8 << 20;

/// Values by a schema, framed: up to 65,536, or as many as 16 MiB hold, always the same.
///
/// # Errors
/// The text is no schema, something in `arg.properties` is not known or does not suit its type, or a value has no end.
pub fn values(schema: &[u8], id: u32) -> Result<Vec<Vec<u8>>, SchemaError> {
    let shapes = Shapes::read(schema)?;
    let mut random = Random::new();
    let (mut made, mut spent) = (Vec::new(), 0);
    while made.len() < COUNT_MAX && spent < ALL_MAX {
        let mut value = vec![0];
        value.extend_from_slice(&id.to_be_bytes());
        let mut maker = Maker::new(&shapes, &mut random, ONE_MAX);
        maker.append(shapes.whole(), &mut value)?;
        spent += maker.spent();
        made.push(value);
    }
    Ok(made)
}
