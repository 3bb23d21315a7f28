//! Draws values and writes them.

use crate::encode;
use crate::error::SchemaError;
use crate::random::Random;
use crate::shape::{Shapes, ValueShape};

/// How often a type may hold itself before a value comes to its end: unions take what ends soonest, and arrays and maps are
/// empty.
const RECURSIONS_MAX: u32 = 2;
/// Types with names inside each other from which on it does so, too.
const DEPTH_MAX: u32 = 32;
/// Letters of a map's key.
const KEY_LETTERS: usize = 8;

/// Makes one value.
pub(crate) struct Maker<'m> {
    shapes: &'m Shapes,
    random: &'m mut Random,
    /// How often each type with a name has been begun and not ended.
    open: Vec<u32>,
    depth: u32,
    recursions: u32,
    /// Where the value begins.
    first: usize,
    parts: usize,
    /// Most bytes, and most parts.
    most: usize,
}

impl<'m> Maker<'m> {
    /// One whose value, with what it is appended to, has no more bytes than that, and no more parts.
    pub(crate) fn new(shapes: &'m Shapes, random: &'m mut Random, most: usize) -> Self {
        let open = vec![0; shapes.named_count()];
        Self { shapes, random, open, depth: 0, recursions: 0, first: 0, parts: 0, most }
    }

    /// Parts of the value; some have no bytes.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Begins with another value.
    pub(crate) fn begin(&mut self, out: &[u8]) {
        (self.first, self.parts) = (out.len(), 0);
    }

    /// Whether so many more bytes may come.
    fn allow(&self, bytes: usize, out: &[u8]) -> Result<(), SchemaError> {
        let bytes = (out.len() - self.first).saturating_add(bytes);
        if bytes.max(self.parts) <= self.most {
            return Ok(());
        }
        Err(SchemaError::new(format!("has values of more than {} MiB", self.most >> 20)).hint(
            "say under `arg.properties` a `length` of arrays, maps and strings: arrays in arrays multiply",
        ))
    }

    /// Appends a value of a shape.
    ///
    /// # Errors
    /// It becomes too large.
    pub(crate) fn append(&mut self, shape: &ValueShape, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.parts += 1;
        self.allow(0, out)?;
        match shape {
            ValueShape::Null => {}
            ValueShape::Boolean(odds) => out.push((self.random.part() < *odds).into()),
            ValueShape::Whole(min, max) => encode::long(self.random.whole(*min, *max), out),
            ValueShape::Float(min, max) => {
                let number = self.real(*min, *max) as f32;
                out.extend_from_slice(&number.to_le_bytes());
            }
            ValueShape::Double(min, max) => out.extend_from_slice(&self.real(*min, *max).to_le_bytes()),
            ValueShape::Bytes(min, max) => {
                let length = self.length((*min, *max));
                encode::long(length as i64, out);
                self.bytes(length, out)?;
            }
            ValueShape::Text(min, max) => {
                let length = self.length((*min, *max));
                encode::long(length as i64, out);
                self.letters(length, out)?;
            }
            ValueShape::Fixed(bytes) => self.bytes(*bytes, out)?,
            ValueShape::Decimal(below, bytes) => {
                let number = encode::unscaled(self.random.whole(0, *below - 1));
                match bytes {
                    None => encode::bytes(&number, out),
                    Some(bytes) => {
                        self.allow(*bytes, out)?;
                        out.resize(out.len() + bytes.saturating_sub(number.len()), 0);
                        out.extend_from_slice(&number[number.len().saturating_sub(*bytes)..]);
                    }
                }
            }
            ValueShape::Uuid => encode::bytes(uuid(self.random.bits()).as_bytes(), out),
            ValueShape::Duration => {
                for below in [12, 30, 86_400_000] {
                    out.extend_from_slice(&(self.random.below(below) as u32).to_le_bytes());
                }
            }
            ValueShape::OneOf(options) => {
                let option = &options[self.random.below(options.len() as u64) as usize];
                self.allow(option.len(), out)?;
                out.extend_from_slice(option);
            }
            inner => self.append_inner(inner, out)?,
        }
        Ok(())
    }

    /// The shapes with others inside.
    fn append_inner(&mut self, shape: &ValueShape, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        let is_ending = self.recursions >= RECURSIONS_MAX || self.depth >= DEPTH_MAX;
        match shape {
            ValueShape::Array(items, length) => {
                let count = if is_ending { 0 } else { self.length(*length) };
                self.block(count, out, |maker, out| maker.append(items, out))?;
            }
            ValueShape::Map(values, length) => {
                let count = if is_ending { 0 } else { self.length(*length) };
                self.block(count, out, |maker, out| {
                    encode::long(KEY_LETTERS as i64, out);
                    maker.letters(KEY_LETTERS, out)?;
                    maker.append(values, out)
                })?;
            }
            ValueShape::Union(variants, soonest) => {
                let any = self.random.below(variants.len() as u64) as usize;
                let at = if is_ending { *soonest } else { any };
                encode::long(at as i64, out);
                self.append(&variants[at], out)?;
            }
            ValueShape::Record(fields) => fields.iter().try_for_each(|field| self.append(field, out))?,
            ValueShape::Named(number) => {
                let shapes = self.shapes;
                let is_recursion = self.open[*number] > 0;
                self.open[*number] += 1;
                self.depth += 1;
                self.recursions += u32::from(is_recursion);
                self.append(shapes.named(*number), out)?;
                self.open[*number] -= 1;
                self.depth -= 1;
                self.recursions -= u32::from(is_recursion);
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
        // A number between two ends whose distance is no number any more.
        min * (1.0 - part) + max * part
    }

    fn bytes(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.allow(bytes, out)?;
        let first = out.len();
        out.resize(first + bytes, 0);
        self.random.fill(&mut out[first..]);
        Ok(())
    }

    fn letters(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<(), SchemaError> {
        self.allow(bytes, out)?;
        out.extend((0..bytes).map(|_| b'A' + self.random.below(26) as u8));
        Ok(())
    }
}

/// A random UUID, version 4, as RFC 9562 writes it.
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 4 << 76 | 2 << 62;
    let digits = format!("{bits:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
