//! What values are drawn from.

/// What one part of a value is drawn from.
#[derive(Debug)]
pub(crate) enum ValueShape {
    /// Nothing.
    Null,
    /// `true` with a probability.
    Boolean(f64),
    /// A whole number from one to another; an enum's is the place of its symbol.
    Whole(i64, i64),
    /// A number from one to another.
    Float(f64, f64),
    /// The shape with twice the bytes.
    Double(f64, f64),
    /// Random bytes, of a length from one to another.
    Bytes(u32, u32),
    /// Random capital letters.
    Text(u32, u32),
    /// So many random bytes, without a length.
    Fixed(usize),
    /// An unscaled value below a power of ten; with a number of bytes in as many, otherwise in as few as it takes.
    Decimal(i64, Option<usize>),
    /// A random UUID as text.
    Uuid,
    /// Months, days and milliseconds.
    Duration,
    /// One of these, as they are encoded.
    OneOf(Vec<Vec<u8>>),
    /// So many of one shape.
    Array(Box<ValueShape>, (u32, u32)),
    /// The same, each with a key.
    Map(Box<ValueShape>, (u32, u32)),
    /// One of these; the second is the place of the one that ends soonest.
    Union(Vec<ValueShape>, usize),
    /// All of these.
    Record(Vec<ValueShape>),
    /// The type with a name that has this number.
    Named(usize),
}

/// The shapes of a schema.
#[derive(Debug)]
pub(crate) struct Shapes {
    whole: ValueShape,
    named: Vec<ValueShape>,
}

impl Shapes {
    /// With these.
    pub(crate) fn new(whole: ValueShape, named: Vec<ValueShape>) -> Self {
        Self { whole, named }
    }

    /// That of a whole value.
    pub(crate) fn whole(&self) -> &ValueShape {
        &self.whole
    }

    /// That of the type with a name that has this number.
    pub(crate) fn named(&self, number: usize) -> &ValueShape {
        &self.named[number]
    }

    /// How many types have names.
    pub(crate) fn named_count(&self) -> usize {
        self.named.len()
    }
}
