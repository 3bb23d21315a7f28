//! All values of a schema.

use crate::error::SchemaError;
use crate::make::Maker;
use crate::random::Random;
use crate::reading::read;

/// Most values that are made of a schema.
pub(crate) const COUNT_MAX: usize = 1 << 16;
/// Most bytes of all of them together, and most parts; some have none.
pub(crate) const ALL_MAX: usize = 16 << 20;
/// Most bytes and parts of one value.
const ONE_MAX: usize = 8 << 20;

/// Values by a schema, framed: up to 65,536, or as many as 16 MiB hold, always the same.
///
/// # Errors
/// The text is no schema, something in `arg.properties` is not known or does not suit its type, or a value is too large or
/// has no end.
pub fn values(schema: &[u8], id: u32) -> Result<Vec<Vec<u8>>, SchemaError> {
    let shapes = read(schema)?;
    let mut random = Random::new();
    let mut maker = Maker::new(&shapes, &mut random, ONE_MAX);
    let (mut made, mut bytes, mut parts) = (Vec::new(), 0, 0);
    while made.len() < COUNT_MAX {
        let mut value = vec![0];
        value.extend_from_slice(&id.to_be_bytes());
        maker.begin(&value);
        maker.append(shapes.whole(), &mut value)?;
        (bytes, parts) = (bytes + value.len(), parts + maker.parts());
        if !made.is_empty() && bytes.max(parts) > ALL_MAX {
            break;
        }
        made.push(value);
    }
    Ok(made)
}
