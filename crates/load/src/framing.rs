//! Frames of the lab–worker messages: four bytes of length, big-endian, then JSON; and the greeting's check.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use kdyno_model::secret::Secret;
use kdyno_model::worker::{
    BeforeTask, FRAME_BYTES_MAX, FromWorker, GivenContent, PROTOCOL_VERSION, ToWorker,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Bytes of a frame before its message.
const PREFIX_BYTES: usize = 4;

/// Writes one message.
///
/// # Errors
/// When the message is too large or the stream fails.
pub fn write_frame<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    stream.write_all(&frame(message, 0)?)?;
    stream.flush()
}

/// Writes the values of secrets by name, as [`BeforeTask::Secrets`] is read: the one place where they leave the lab.
///
/// # Errors
/// When they are too large together or the stream fails.
pub fn write_secrets(stream: &mut impl Write, secrets: &BTreeMap<&str, &Secret>) -> io::Result<()> {
    struct Exposed<'a>(&'a Secret);
    impl Serialize for Exposed<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&Base64Display::new(self.0.expose(), &STANDARD))
        }
    }
    #[derive(Serialize)]
    struct SecretsMessage<'a> {
        secrets: BTreeMap<&'a str, Exposed<'a>>,
    }
    /// More than JSON has around a value and its name.
    const AROUND_BYTES: usize = 16;
    // Six bytes are the longest escape of one in a name. A buffer that does not grow leaves no copy behind.
    let room = |(name, secret): (&&str, &&Secret)| name.len() * 6 + secret.expose().len() * 2 + AROUND_BYTES;
    let bytes = AROUND_BYTES + secrets.iter().map(room).sum::<usize>();
    let message =
        SecretsMessage { secrets: secrets.iter().map(|(name, secret)| (*name, Exposed(secret))).collect() };
    let frame = Secret::new(frame(&message, bytes)?);
    stream.write_all(frame.expose())?;
    stream.flush()
}

/// Writes keys or values that are given, as [`BeforeTask::Given`] is read.
///
/// # Errors
/// When it is too large or the stream fails.
pub fn write_given(stream: &mut impl Write, given: &GivenContent) -> io::Result<()> {
    #[derive(Serialize)]
    struct GivenMessage<'a> {
        given: &'a GivenContent,
    }
    write_frame(stream, &GivenMessage { given })
}

/// A message with its length; `bytes` is how large it may become without its buffer being moved.
fn frame<T: Serialize>(message: &T, bytes: usize) -> io::Result<Vec<u8>> {
    let mut frame = Vec::with_capacity(PREFIX_BYTES + bytes);
    frame.resize(PREFIX_BYTES, 0);
    serde_json::to_writer(&mut frame, message)?;
    let bytes = frame.len() - PREFIX_BYTES;
    let length = u32::try_from(bytes).ok().filter(|length| *length <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| too_large(&format!("has {bytes}")))?;
    frame[..PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// When the stream fails or ends inside a message, or the bytes are not such a message.
pub fn read_frame<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    read_body(stream, 0)?.map(|body| parse(&body)).transpose()
}

/// Reads what a worker may hear before its task, and overwrites the bytes; `None` at the end of the stream.
///
/// # Errors
/// As [`read_frame`]; no error repeats a value.
pub fn read_before_task(stream: &mut impl Read) -> io::Result<Option<BeforeTask>> {
    /// What is made room for before it has come: more than a few secrets take.
    const ROOM_BYTES: usize = 1 << 20;
    let body = read_body(stream, ROOM_BYTES)?.map(Secret::new);
    body.map(|body| parse(body.expose())).transpose()
}

/// What a worker hears after its task.
pub enum AfterTask {
    /// Newer values of secrets by name.
    Secrets(BTreeMap<String, Secret>),
    /// Anything else.
    Said(ToWorker),
}

/// Reads what a worker may hear after its task, and overwrites the bytes; `None` at the end of the stream.
///
/// # Errors
/// As [`read_frame`]; no error repeats a value.
pub fn read_after_task(stream: &mut impl Read) -> io::Result<Option<AfterTask>> {
    const SECRETS: &[u8] = b"{\"secrets\"";
    let body = read_body(stream, 1 << 16)?.map(Secret::new);
    let read = |body: Secret| match body.expose().starts_with(SECRETS) {
        false => parse(body.expose()).map(AfterTask::Said),
        true => match parse(body.expose())? {
            BeforeTask::Secrets(values) => Ok(AfterTask::Secrets(values)),
            BeforeTask::Given(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "`given` after the task")),
            BeforeTask::Prepare(task) => Ok(AfterTask::Said(ToWorker::Prepare(task))),
        },
    };
    body.map(read).transpose()
}

/// One message's bytes; up to `room_bytes` of them are read without being moved.
fn read_body(stream: &mut impl Read, room_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let mut prefix = [0u8; PREFIX_BYTES];
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
        return Err(too_large(&format!("claims {length}")));
    }
    // Read as it comes instead of allocating what is claimed.
    let mut body = Vec::with_capacity(room_bytes.min(length as usize));
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(body))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("{} bytes are no message of a worker: {error}", body.len());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn too_large(size: &str) -> io::Error {
    let message = format!("a message {size} bytes, {FRAME_BYTES_MAX} are allowed");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Whether a worker's first message is a greeting of this protocol and its clock is the lab's: it must have
/// read CLOCK_MONOTONIC between the lab's own two readings, before the worker was started and after it was heard.
///
/// # Errors
/// When not; one lowercase clause about the worker.
pub fn check_hello(hello: &FromWorker, started_ns: u64, heard_ns: u64) -> Result<(), String> {
    match hello {
        FromWorker::Hello { protocol, .. } if *protocol != PROTOCOL_VERSION => {
            Err(format!("speaks protocol {protocol}, this kdyno speaks {PROTOCOL_VERSION}"))
        }
        FromWorker::Hello { monotonic_ns, .. } if !(started_ns..=heard_ns).contains(monotonic_ns) => {
            Err(format!(
                "has another clock: its CLOCK_MONOTONIC says {monotonic_ns} ns, that of the lab went from {started_ns} \
                 to {heard_ns} ns meanwhile"
            ))
        }
        FromWorker::Hello { .. } => Ok(()),
        _ => Err("did not greet before anything else".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::sample::{Counts, Grain, LATENCY_NS_MAX, Phase, Sample, StreamId, Timing};
    use kdyno_model::worker::ToWorker;
    use proptest::prelude::*;

    fn sample(sum_ns: u128) -> Sample {
        let mut histo = crate::histo::Histo::default();
        (0..2_000u64).for_each(|i| histo.record((i * i * 7_919) % LATENCY_NS_MAX, 3));
        let timings = [Timing::Response, Timing::SendWait];
        Sample {
            id: StreamId { worker: 1, stream: 2 },
            sequence: u64::MAX,
            grain: Grain::FiveSeconds,
            phase: Phase::Measure,
            t0_second: 5,
            written_second: 10,
            counts: Counts {
                offered: 7,
                failed: BTreeMap::from([("max-block".into(), 3)]),
                ..Counts::default()
            },
            histograms: timings.map(|timing| (timing, histo.encode(3).expect("not empty"))).into(),
            sums_ns: timings.map(|timing| (timing, sum_ns)).into(),
        }
    }

    fn through<T: Serialize + DeserializeOwned>(message: &T) -> T {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, message).expect("written");
        read_frame(&mut bytes.as_slice()).expect("read").expect("a message")
    }

    #[test]
    fn messages_come_back_as_they_went() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &FromWorker::Hello { protocol: 7, monotonic_ns: u64::MAX }).unwrap();
        write_frame(&mut bytes, &FromWorker::Failed { message: "no".into() }).unwrap();
        let mut stream = bytes.as_slice();
        let hello = read_frame(&mut stream);
        assert!(matches!(hello, Ok(Some(FromWorker::Hello { protocol: 7, monotonic_ns: u64::MAX }))));
        assert!(matches!(read_frame(&mut stream), Ok(Some(FromWorker::Failed { .. }))));
        assert!(matches!(read_frame::<FromWorker>(&mut stream), Ok(None)));
        for sum_ns in [0, u128::from(u64::MAX) + 1, u128::MAX] {
            let FromWorker::Sample(back) = through(&FromWorker::Sample(Box::new(sample(sum_ns)))) else {
                panic!("a sample")
            };
            assert_eq!(*back, sample(sum_ns));
        }
    }

    /// What the messages look like to another language.
    #[test]
    fn messages_are_plain_json() {
        let json = |message: &FromWorker| serde_json::to_value(message).expect("plain JSON");
        assert_eq!(json(&FromWorker::Prepared), "prepared");
        let mut bare = sample(0);
        (bare.counts, bare.histograms, bare.sums_ns) = Default::default();
        let reported = json(&FromWorker::Sample(Box::new(bare.clone())));
        let expected = serde_json::json!({ "sample": {
            "id": { "worker": 1, "stream": 2 }, "sequence": u64::MAX, "grain": "five_seconds", "phase": "measure",
            "t0_second": 5, "written_second": 10,
        } });
        assert_eq!(reported, expected);
        bare.histograms.insert(Timing::SendWait, vec![0xff, 0, 1, 2]);
        bare.counts.offered = 5;
        let reported = json(&FromWorker::Sample(Box::new(bare)));
        assert_eq!(reported["sample"]["histograms"], serde_json::json!({ "send_wait": "/wABAg==" }));
        assert_eq!(reported["sample"]["counts"]["offered"], 5);
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_place() {
        let read = |text: &str| {
            let mut frame = (text.len() as u32).to_be_bytes().to_vec();
            frame.extend_from_slice(text.as_bytes());
            read_frame::<FromWorker>(&mut frame.as_slice()).expect_err("refused").to_string()
        };
        let start =
            r#"{"sample":{"id":{"worker":0,"stream":0},"sequence":0,"grain":"second","phase":"drain","#;
        let tail = r#""t0_second":0,"written_second":0"#;
        for (text, reason) in [
            ("", "EOF"),
            ("{", "EOF"),
            ("\"bye\"", "unknown variant `bye`, expected one of `hello`"),
            (r#"{"hello":{"protocol":1}}"#, "missing field `monotonic_ns` at line 1 column 23"),
            (r#"{"hello":{"protocol":-1,"monotonic_ns":0}}"#, "invalid value: integer `-1`"),
            (&format!("{start}{tail},\"counts\":{{\"offred\":1}}}}}}"), "unknown field `offred`"),
            (&format!("{start}{tail},\"histograms\":{{\"response\":\"&\"}}}}}}"), "not base64 text"),
            (&format!("{start}{tail}}}}} x"), "trailing characters"),
        ] {
            let reported = read(text);
            assert!(reported.contains(reason), "{text}: {reported}");
        }
        let huge = (FRAME_BYTES_MAX + 1).to_be_bytes();
        let reported = read_frame::<FromWorker>(&mut huge.as_slice()).expect_err("refused").to_string();
        assert_eq!(reported, "a message claims 67108865 bytes, 67108864 are allowed");
    }

    #[test]
    fn secrets_arrive_in_one_message_whose_errors_repeat_none() {
        let long = [0xff; kdyno_model::secret::SECRET_BYTES_MAX];
        let values =
            [("pw \"1\"\u{1}", Secret::new(b"hunter2".to_vec())), ("key", Secret::new(long.to_vec()))];
        let mut bytes = Vec::new();
        let named = values.iter().map(|(name, secret)| (*name, secret)).collect();
        write_secrets(&mut bytes, &named).expect("written");
        let mut stream = bytes.as_slice();
        let Ok(Some(BeforeTask::Secrets(read))) = read_before_task(&mut stream) else { panic!("secrets") };
        assert!(stream.is_empty() && read.len() == values.len());
        assert!(values.iter().all(|(name, secret)| read[*name].expose() == secret.expose()));
        // Where they are not expected, or not as they should be.
        let reported = read_frame::<ToWorker>(&mut bytes.as_slice()).expect_err("out of turn").to_string();
        assert!(reported.contains("unknown variant `secrets`") && !reported.contains("aHVud"), "{reported}");
        for text in
            [r#"{"secrets":"hunter2"}"#, r#"{"secrets":{"pw":"hunter2!"}}"#, r#"{"secrets":{"pw":hunter2}}"#]
        {
            let mut frame = (text.len() as u32).to_be_bytes().to_vec();
            frame.extend_from_slice(text.as_bytes());
            let reported = read_before_task(&mut frame.as_slice()).err().expect("refused").to_string();
            assert!(
                reported.contains("secrets are a map of names") && !reported.contains("hunter2"),
                "{reported}"
            );
        }
    }

    #[test]
    fn a_greeting_shows_the_protocol_and_the_clock() {
        let hello =
            |protocol, monotonic_ns| check_hello(&FromWorker::Hello { protocol, monotonic_ns }, 10, 20);
        assert_eq!((hello(PROTOCOL_VERSION, 10), hello(PROTOCOL_VERSION, 20)), (Ok(()), Ok(())));
        for (protocol, monotonic_ns, reason) in [
            (PROTOCOL_VERSION, 9, "clock"),
            (PROTOCOL_VERSION, 21, "clock"),
            (PROTOCOL_VERSION - 1, 15, "speaks protocol"),
        ] {
            let reported = hello(protocol, monotonic_ns).expect_err("refused");
            assert!(reported.contains(reason), "{reported}");
        }
        assert!(check_hello(&FromWorker::Prepared, 10, 20).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_or_a_message_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut stream = bytes.as_slice();
            while let Ok(Some(_)) = read_frame::<ToWorker>(&mut stream) {}
        }

        /// A schedule computed from a rate must be the one that was planned.
        #[test]
        fn rates_arrive_to_the_last_bit(rate in any::<f64>().prop_filter("a number", |rate| rate.is_finite())) {
            prop_assert_eq!(through(&rate).to_bits(), rate.to_bits());
        }
    }
}
