//! How the fields of a message are laid out in its bytes: one [`Field`] for each type of Kafka's specifications, and
//! the macro that makes structures, and whole messages, of them.

use crate::errors::ErrorCode;
use crate::wire::{Reader, Result, WireError, Writer};

/// Memory an element of an array may take for each of its bytes: that of an empty string, with some room.
const MEMORY_PER_BYTE_MAX: usize = 32;

/// In which form a message is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Version of the request.
    pub version: i16,
    /// Whether lengths are compact and structures end with tagged fields.
    pub flexible: bool,
}

/// A field of a message.
pub trait Field: Sized {
    /// Fewest bytes a value takes: what a count of array elements is checked against.
    fn bytes_min(form: Form) -> usize;
    /// Reads a value.
    ///
    /// # Errors
    /// When the bytes are not such a value.
    fn read(reader: &mut Reader<'_>, form: Form) -> Result<Self>;
    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>, form: Form);
    /// A value that this version can carry.
    #[cfg(test)]
    fn sample(source: &mut SampleSource<'_>, form: Form) -> Self;
}

/// Where the values of a sample message come from: bytes that `proptest` makes and shrinks.
#[cfg(test)]
pub struct SampleSource<'a> {
    pub(super) bytes: std::slice::Iter<'a, u8>,
}

#[cfg(test)]
impl SampleSource<'_> {
    /// The next byte; 0 when there are no more.
    pub fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    /// A number of up to eight bytes, of either sign.
    pub fn number(&mut self) -> i64 {
        let bytes = self.byte() % 9;
        (0..bytes).fold(0, |number, _| number << 8 | i64::from(self.byte() as i8))
    }

    /// Text of up to seven letters, of one or two bytes each.
    pub fn text(&mut self) -> String {
        (0..self.byte() % 8).map(|_| char::from(self.byte())).collect()
    }
}

/// A field that is a structure of its own.
pub trait Structure: Field {}

impl Default for ErrorCode {
    fn default() -> Self {
        Self::NONE
    }
}

/// Types of one fixed form: size, reader, writer, sample.
macro_rules! fixed {
    ($($type:ty: $size:literal, |$reader:ident| $read:expr, |$value:ident| $bytes:expr, |$source:ident| $sample:expr;)*) => {$(
        impl Field for $type {
            fn bytes_min(_: Form) -> usize {
                $size
            }
            fn read($reader: &mut Reader<'_>, _: Form) -> Result<Self> {
                $read
            }
            fn write(&self, out: &mut Vec<u8>, _: Form) {
                let $value = self;
                out.put(&$bytes);
            }
            #[cfg(test)]
            fn sample($source: &mut SampleSource<'_>, _: Form) -> Self {
                $sample
            }
        }
    )*};
}

fixed! {
    bool: 1, |r| r.bool(), |v| [u8::from(*v)], |s| s.byte() & 1 == 1;
    i8: 1, |r| r.i8(), |v| v.to_be_bytes(), |s| s.number() as i8;
    i16: 2, |r| r.i16(), |v| v.to_be_bytes(), |s| s.number() as i16;
    i32: 4, |r| r.i32(), |v| v.to_be_bytes(), |s| s.number() as i32;
    i64: 8, |r| r.i64(), |v| v.to_be_bytes(), |s| s.number();
    f64: 8, |r| Ok(f64::from_bits(r.u64()?)), |v| v.to_be_bytes(), |s| s.number() as f64;
    [u8; 16]: 16, |r| r.uuid(), |v| *v, |s| [s.byte(); 16];
    ErrorCode: 2, |r| Ok(Self(r.i16()?)), |v| v.0.to_be_bytes(), |s| Self(s.number() as i16);
}

/// Types that can be null, as themselves and as an option. A null where none may be is an error.
macro_rules! nullable {
    ($([$($generic:tt)*] $type:ty: $what:literal, $wide:literal;)*) => {$(
        impl<$($generic)*> Field for $type {
            fn bytes_min(form: Form) -> usize {
                Option::<$type>::bytes_min(form)
            }
            fn read(reader: &mut Reader<'_>, form: Form) -> Result<Self> {
                Option::<$type>::read(reader, form)?.ok_or(WireError::Length { what: $what, length: -1 })
            }
            fn write(&self, out: &mut Vec<u8>, form: Form) {
                write_length(out, form, Some(self.len()), $wide);
                self.write_content(out, form);
            }
            #[cfg(test)]
            fn sample(source: &mut SampleSource<'_>, form: Form) -> Self {
                <$type>::sample_content(source, form)
            }
        }

        impl<$($generic)*> Field for Option<$type> {
            fn bytes_min(form: Form) -> usize {
                match (form.flexible, $wide) {
                    (true, _) => 1,
                    (false, true) => size_of::<i32>(),
                    (false, false) => size_of::<i16>(),
                }
            }
            fn read(reader: &mut Reader<'_>, form: Form) -> Result<Self> {
                <$type>::read_content(reader, form)
            }
            fn write(&self, out: &mut Vec<u8>, form: Form) {
                match self {
                    Some(value) => value.write(out, form),
                    None => write_length(out, form, None, $wide),
                }
            }
            #[cfg(test)]
            fn sample(source: &mut SampleSource<'_>, form: Form) -> Self {
                (source.byte() & 3 != 0).then(|| <$type>::sample(source, form))
            }
        }
    )*};
}

/// What differs between the types that can be null.
trait Content: Sized {
    fn read_content(reader: &mut Reader<'_>, form: Form) -> Result<Option<Self>>;
    fn write_content(&self, out: &mut Vec<u8>, form: Form);
    #[cfg(test)]
    fn sample_content(source: &mut SampleSource<'_>, form: Form) -> Self;
}

nullable! {
    [] String: "string", false;
    [] Vec<u8>: "bytes", true;
    [T: Field] Vec<T>: "array", true;
}

fn write_length(out: &mut Vec<u8>, form: Form, length: Option<usize>, wide: bool) {
    match (form.flexible, length) {
        (true, length) => out.put_uvarint(length.map_or(0, |length| length as u32 + 1)),
        (false, length) if wide => out.put_i32(length.map_or(-1, |length| length as i32)),
        (false, length) => out.put_i16(length.map_or(-1, |length| length as i16)),
    }
}

impl Content for String {
    fn read_content(reader: &mut Reader<'_>, form: Form) -> Result<Option<Self>> {
        Ok(reader.nullable_string(form.flexible)?.map(str::to_owned))
    }
    fn write_content(&self, out: &mut Vec<u8>, _: Form) {
        out.put(self.as_bytes());
    }
    #[cfg(test)]
    fn sample_content(source: &mut SampleSource<'_>, _: Form) -> Self {
        source.text()
    }
}

impl Content for Vec<u8> {
    fn read_content(reader: &mut Reader<'_>, form: Form) -> Result<Option<Self>> {
        Ok(reader.nullable_bytes(form.flexible)?.map(<[u8]>::to_vec))
    }
    fn write_content(&self, out: &mut Vec<u8>, _: Form) {
        out.put(self);
    }
    #[cfg(test)]
    fn sample_content(source: &mut SampleSource<'_>, _: Form) -> Self {
        source.text().into_bytes()
    }
}

impl<T: Field> Content for Vec<T> {
    fn read_content(reader: &mut Reader<'_>, form: Form) -> Result<Option<Self>> {
        let Some(count) = reader.nullable_array_length(form.flexible, T::bytes_min(form))? else {
            return Ok(None);
        };
        // What makes a count that fits harmless: no element takes much more memory than it takes bytes.
        debug_assert!(size_of::<T>() <= MEMORY_PER_BYTE_MAX * T::bytes_min(form));
        let mut values = Self::with_capacity(count);
        for _ in 0..count {
            values.push(T::read(reader, form)?);
        }
        Ok(Some(values))
    }
    fn write_content(&self, out: &mut Vec<u8>, form: Form) {
        for value in self {
            value.write(out, form);
        }
    }
    #[cfg(test)]
    fn sample_content(source: &mut SampleSource<'_>, form: Form) -> Self {
        (0..source.byte() % 4).map(|_| T::sample(source, form)).collect()
    }
}

impl<T: Structure> Field for Option<T> {
    fn bytes_min(_: Form) -> usize {
        1
    }
    fn read(reader: &mut Reader<'_>, form: Form) -> Result<Self> {
        match reader.i8()? {
            -1 => Ok(None),
            _ => T::read(reader, form).map(Some),
        }
    }
    fn write(&self, out: &mut Vec<u8>, form: Form) {
        match self {
            Some(value) => {
                out.put_i8(1);
                value.write(out, form);
            }
            None => out.put_i8(-1),
        }
    }
    #[cfg(test)]
    fn sample(source: &mut SampleSource<'_>, form: Form) -> Self {
        (source.byte() & 3 != 0).then(|| T::sample(source, form))
    }
}

/// A message: its API, then its structures with a line for each field, in the order of their bytes: name,
/// type, versions that have it, those in which it may be null where these are fewer, tag, default where it is
/// not Rust's own. A field that a version lacks is left out when written, and read as its default.
macro_rules! message {
    (
        $api:ident = $key:literal, versions $min:literal..=$max:literal, flexible $flexible:literal..
        $(, response by $response:path)?;
        $($name:ident { $($field:ident: $type:ty [$versions:expr] $(null [$null:expr])? $(tag $tag:literal)? $(= $default:expr)?,)* })*
    ) => {
        #[doc = concat!("Key of ", stringify!($api), ".")]
        pub const API_KEY: i16 = $key;
        #[doc = concat!("Key, name and versions of ", stringify!($api), ".")]
        pub const API: $crate::messages::Api = $crate::messages::Api {
            key: API_KEY,
            name: stringify!($api),
            version_min: $min,
            version_max: $max,
            flexible_from: $flexible,
        };

        impl $crate::messages::Message for Request {
            const API: $crate::messages::Api = API;
        }
        impl $crate::messages::Message for Response {
            const API: $crate::messages::Api = API;
        }
        impl $crate::messages::Request for Request {
            type Response = Response;
            $(fn decode_response(bytes: &[u8], version: i16) -> $crate::wire::Result<Response> {
                $response(bytes, version)
            })?
        }

        $(
            #[derive(Debug, Clone, PartialEq)]
            pub struct $name { $(pub $field: $type,)* }

            impl Default for $name {
                fn default() -> Self {
                    Self { $($field: message!(@default $($default)?),)* }
                }
            }

            impl $crate::messages::Structure for $name {}

            impl $crate::messages::Field for $name {
                fn bytes_min(form: $crate::messages::Form) -> usize {
                    let mut bytes = usize::from(form.flexible);
                    $(message!(@untagged ($($tag)?) {
                        if ($versions).contains(&form.version) {
                            bytes += <$type>::bytes_min(form);
                        }
                    });)*
                    bytes
                }

                fn read(
                    reader: &mut $crate::wire::Reader<'_>,
                    form: $crate::messages::Form,
                ) -> $crate::wire::Result<Self> {
                    let mut value = Self::default();
                    $(message!(@untagged ($($tag)?) {
                        if ($versions).contains(&form.version) {
                            value.$field = $crate::messages::Field::read(reader, form)?;
                            $(if !($null).contains(&form.version) && value.$field.is_none() {
                                let what = stringify!($field);
                                return Err($crate::wire::WireError::Length { what, length: -1 });
                            })?
                        }
                    });)*
                    reader.tags(form.flexible, |_tag, _reader| {
                        $($(if _tag == $tag && ($versions).contains(&form.version) {
                            value.$field = $crate::messages::Field::read(_reader, form)?;
                            return Ok(true);
                        })?)*
                        Ok(false)
                    })?;
                    Ok(value)
                }

                fn write(&self, out: &mut Vec<u8>, form: $crate::messages::Form) {
                    $(message!(@untagged ($($tag)?) {
                        if ($versions).contains(&form.version) {
                            self.$field.write(out, form);
                        }
                    });)*
                    #[allow(unused_mut, reason = "few structures have tagged fields")]
                    let mut tags: Vec<(u32, Vec<u8>)> = Vec::new();
                    $($(if ($versions).contains(&form.version) && self.$field != Self::default().$field {
                        let mut bytes = Vec::new();
                        self.$field.write(&mut bytes, form);
                        tags.push(($tag, bytes));
                    })?)*
                    if form.flexible {
                        $crate::wire::Writer::put_tags(out, &tags);
                    }
                }

                #[cfg(test)]
                fn sample(
                    source: &mut $crate::messages::field::SampleSource<'_>,
                    form: $crate::messages::Form,
                ) -> Self {
                    let mut value = Self::default();
                    $(if ($versions).contains(&form.version) {
                        value.$field = $crate::messages::Field::sample(source, form);
                        $(if !($null).contains(&form.version) {
                            value.$field.get_or_insert_default();
                        })?
                    })*
                    value
                }
            }
        )*
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@untagged () $body:block) => { $body };
    (@untagged ($tag:literal) $body:block) => {};
}

pub(crate) use message;
