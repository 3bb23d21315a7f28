//! Draws values and writes them.

use crate::encode;
use crate::error::SchemaError;
use crate::random::Random;
use crate::shape::{Shape, Shapes};

/// Types with names inside each other from which on a value comes to its end: a union takes what holds no others, and
/// arrays and maps are empty.
const DEPTH_USUAL: u32 = 6;
/// The same where it must have ended.
const DEPTH_MAX: u32 = 64;
/// Letters of a map's key.
const KEY_LETTERS: usize = 8;

/// Makes one value.
pub(crate) struct Maker<'m> {
    shapes: &'m Shapes,
    random: &'m mut Random,
    depth: u32,
    spent: usize,
    spent_max: usize,
}

impl<'m> Maker<'m> {
    /// One that makes no more than so much.
    pub(crate) fn new(shapes: &'m Shapes, random: &'m mut Random, spent_max: usize) -> Self {
        Self { shapes, random, depth: 0, spent: 0, spent_max }
    }

    /// What was made: bytes, and parts.
    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    fn spend(&mut self, bytes: usize) -> Result<(), SchemaError> {
        self.spent = self.spent.saturating_add(bytes).saturating_add(1);
        if self.spent <= self.spent_max {
            return Ok(());
        }
        Err(SchemaError::new(format!("has values of more than {} MiB", self.spent_max >> 20)).hint(
            "say under `arg.properties` a `length` of arrays, maps and strings: arrays in arrays multiply",
        ))
    }

    /// Appends a value of a shape.
    ///
    /// # Errors
    /// It becomes too large, or has no end.
    pub(crate) fn append(&mut self, shape: &Shape, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.spend(0)?;
        match shape {
            Shape::Null => {}
            Shape::Boolean(odds) => out.push((self.random.part() < *odds).into()),
            Shape::Whole(min, max) => encode::long(self.random.whole(*min, *max), out),
            Shape::Float(min, max) => {
                let number = self.real(*min, *max) as f32;
                out.extend_from_slice(&number.to_le_bytes());
            }
            Shape::Double(min, max) => out.extend_from_slice(&self.real(*min, *max).to_le_bytes()),
            Shape::Bytes(min, max) => {
                let length = self.length((*min, *max));
                encode::long(length as i64, out);
                self.bytes(length, out)?;
            }
            Shape::Text(min, max) => {
                let length = self.length((*min, *max));
                encode::long(length as i64, out);
                self.letters(length, out)?;
            }
            Shape::Fixed(bytes) => self.bytes(*bytes, out)?,
            Shape::Decimal(below, bytes) => {
                let number = encode::unscaled(self.random.whole(0, *below - 1));
                match bytes {
                    None => encode::bytes(&number, out),
                    Some(bytes) => {
                        self.spend(*bytes)?;
                        out.resize(out.len() + bytes.saturating_sub(number.len()), 0);
                        out.extend_from_slice(&number);
                    }
                }
            }
            Shape::Uuid => encode::bytes(uuid(self.random.bits()).as_bytes(), out),
            Shape::Duration => {
                for below in [12, 30, 86_400_000] {
                    out.extend_from_slice(&(self.random.below(below) as u32).to_le_bytes());
                }
            }
            Shape::OneOf(options) => {
                let option = &options[self.random.below(options.len() as u64) as usize];
                self.spend(option.len())?;
                out.extend_from_slice(option);
            }
            inner => self.append_inner(inner, out)?,
        }
        Ok(())
    }

    /// The shapes with others inside.
    fn append_inner(&mut self, shape: &Shape, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        let is_ending = self.depth >= DEPTH_USUAL;
        match shape {
            Shape::Array(items, length) => {
                let count = if is_ending { 0 } else { self.length(*length) };
                self.block(count, out, |maker, out| maker.append(items, out))?;
            }
            Shape::Map(values, length) => {
                let count = if is_ending { 0 } else { self.length(*length) };
                self.block(count, out, |maker, out| {
                    encode::long(KEY_LETTERS as i64, out);
                    maker.letters(KEY_LETTERS, out)?;
                    maker.append(values, out)
                })?;
            }
            Shape::Union(variants) => {
                let last = if is_ending { variants.iter().position(is_leaf) } else { None };
                let at = match last {
                    Some(at) => at,
                    None if variants.is_empty() => return Err(SchemaError::new("has a union of nothing")),
                    None => self.random.below(variants.len() as u64) as usize,
                };
                encode::long(at as i64, out);
                self.append(&variants[at], out)?;
            }
            Shape::Record(fields) => fields.iter().try_for_each(|field| self.append(field, out))?,
            Shape::Named(name) => {
                if self.depth == DEPTH_MAX {
                    return Err(SchemaError::new(format!("has no end: `{name}` holds itself"))
                        .hint("a union with `null` lets it end"));
                }
                let shapes = self.shapes;
                self.depth += 1;
                self.append(shapes.named(name), out)?;
                self.depth -= 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// A block of so many, and the end of blocks.
    fn block(
        &mut self,
        count: usize,
        out: &mut Vec<u8>,
        one: impl Fn(&mut Self, &mut Vec<u8>) -> Result<(), SchemaError>,
    ) -> Result<(), SchemaError> {
        if count > 0 {
            encode::long(count as i64, out);
            (0..count).try_for_each(|_| one(self, out))?;
        }
        out.push(0);
        Ok(())
    }

    fn length(&mut self, (min, max): (u32, u32)) -> usize {
        self.random.whole(min.into(), max.into()) as usize
    }

    /// From one number to the other.
    fn real(&mut self, min: f64, max: f64) -> f64 {
        let part = self.random.part();
        // Of two ends whose distance is no number any more.
        min * (1.0 - part) + max * part
    }

    fn bytes(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.spend(bytes)?;
        let first = out.len();
        out.resize(first + bytes, 0);
        self.random.fill(&mut out[first..]);
        Ok(())
    }

    fn letters(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.spend(bytes)?;
        out.extend((0..bytes).map(|_| b'A' + self.random.below(26) as u8));
        Ok(())
    }
}

/// Whether a shape holds no others that may have no end.
fn is_leaf(shape: &Shape) -> bool {
    !matches!(shape, Shape::Record(_) | Shape::Named(_) | Shape::Array(..) | Shape::Map(..) | Shape::Union(_))
}

/// A random UUID, version 4, as RFC 9562 writes it.
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 4 << 76 | 2 << 62;
    let digits = format!("{bits:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
