//! Frames of the lab–worker messages: four bytes of length, big-endian, then `postcard`.

use kdyno_model::worker::FRAME_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Writes one message.
///
/// # Errors
/// When the message is too large or the stream fails.
pub fn write_frame<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= FRAME_BYTES_MAX);
    let length =
        length.ok_or_else(|| io::Error::other(format!("a message of {} bytes is too large", body.len())))?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&body)?;
    stream.flush()
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// When the stream fails or ends inside a message, or the bytes are not such a message.
pub fn read_frame<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut prefix = [0u8; 4];
    let mut have = 0;
    while have < prefix.len() {
        match stream.read(&mut prefix[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => have += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_be_bytes(prefix);
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other(format!(
            "a message claims {length} bytes, {FRAME_BYTES_MAX} are allowed"
        )));
    }
    // Read as it comes instead of allocating what is claimed.
    let mut body = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&body).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::worker::{FromWorker, ToWorker};
    use proptest::prelude::*;

    #[test]
    fn messages_come_back_as_they_went() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &FromWorker::Hello { protocol: 7 }).unwrap();
        write_frame(&mut bytes, &FromWorker::Failed { message: "no".into() }).unwrap();
        let mut stream = bytes.as_slice();
        assert!(matches!(read_frame(&mut stream), Ok(Some(FromWorker::Hello { protocol: 7 }))));
        assert!(matches!(read_frame(&mut stream), Ok(Some(FromWorker::Failed { .. }))));
        assert!(matches!(read_frame::<FromWorker>(&mut stream), Ok(None)));
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_or_a_message_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut stream = bytes.as_slice();
            while let Ok(Some(_)) = read_frame::<ToWorker>(&mut stream) {}
        }
    }
}
