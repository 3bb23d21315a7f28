//! Frames as the process writes and reads them, written down once more, and what any bytes come to.

use super::*;
use crate::java::settings::ValueOrigin;
use kdyno_model::plan::TransactionsPlan;
use proptest::prelude::*;

/// Perhaps known, as frames have it.
fn number(known: Option<u64>) -> [u8; 8] {
    known.map_or(-1, |number| number as i64).to_be_bytes()
}

fn put_readings(out: &mut Vec<u8>, readings: &JavaCost) {
    let JavaCost { at_ns, cpu_ns, threads_cpu_ns, allocated_bytes, collections, collections_ns, heap_bytes } =
        readings;
    out.extend(at_ns.to_be_bytes());
    for value in [cpu_ns, threads_cpu_ns, allocated_bytes, collections, collections_ns, heap_bytes] {
        out.extend(number(*value));
    }
}

/// A frame that the process writes.
pub(in crate::java) fn said(frame: &FromJava<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match frame {
        FromJava::Hello { at_ns, java, client, commit } => super::frame(&mut out, 1, |out| {
            out.extend(at_ns.to_be_bytes());
            [java, client, commit].into_iter().for_each(|text| put_string(out, text));
        }),
        FromJava::Ready { client, began_ns, ready_ns, partitions } => super::frame(&mut out, 2, |out| {
            out.extend(client.to_be_bytes());
            out.extend(began_ns.to_be_bytes());
            out.extend(ready_ns.to_be_bytes());
            out.extend(partitions.to_be_bytes());
        }),
        FromJava::Outcomes { client, taken, outcomes } => super::frame(&mut out, 3, |out| {
            out.extend(client.to_be_bytes());
            out.extend((taken.iter().len() as u32).to_be_bytes());
            out.extend_from_slice(taken.0);
            out.extend((outcomes.iter().len() as u32).to_be_bytes());
            out.extend_from_slice(outcomes.0);
        }),
        FromJava::Reason { number, name } => super::frame(&mut out, 4, |out| {
            out.extend(number.to_be_bytes());
            put_string(out, name);
        }),
        FromJava::Consumed { client, at_ns, records } => super::frame(&mut out, 5, |out| {
            out.extend(client.to_be_bytes());
            out.extend(at_ns.to_be_bytes());
            out.extend((records.iter().len() as u32).to_be_bytes());
            out.extend_from_slice(records.0);
        }),
        FromJava::Lag { client, records } => super::frame(&mut out, 6, |out| {
            out.extend(client.to_be_bytes());
            out.extend(number(*records));
        }),
        FromJava::Readings(readings) => super::frame(&mut out, 7, |out| put_readings(out, readings)),
        FromJava::Event { at_ns, kind, text } => super::frame(&mut out, 8, |out| {
            out.extend(at_ns.to_be_bytes());
            out.push(*kind);
            put_string(out, text);
        }),
        FromJava::Metrics { client, text } => super::frame(&mut out, 9, |out| {
            out.extend(client.to_be_bytes());
            put_string(out, text);
        }),
        FromJava::Failed { kind, text } => super::frame(&mut out, 10, |out| {
            out.push(*kind);
            put_string(out, text);
        }),
        FromJava::Ended => super::frame(&mut out, 11, |_| {}),
        FromJava::Assignment { client, at_ns, change, generation, partitions } => {
            super::frame(&mut out, 12, |out| {
                out.extend(client.to_be_bytes());
                out.extend(at_ns.to_be_bytes());
                out.push(*change as u8);
                out.extend(generation.to_be_bytes());
                out.extend((partitions.len() as u32).to_be_bytes());
                partitions.iter().for_each(|partition| out.extend(partition.to_be_bytes()));
            });
        }
        FromJava::CaughtUp { client } => super::frame(&mut out, 13, |out| out.extend(client.to_be_bytes())),
        FromJava::Settings(settings) => super::frame(&mut out, 14, |out| put_settings(out, settings)),
        FromJava::Transaction { client, ended } => super::frame(&mut out, 15, |out| {
            out.extend(client.to_be_bytes());
            put_transaction(out, ended);
        }),
    }
    out
}

fn put_settings(out: &mut Vec<u8>, settings: &[JavaSetting<'_>]) {
    out.extend((settings.len() as u32).to_be_bytes());
    for setting in settings {
        put_string(out, setting.name);
        out.push(setting.origin as u8);
        put_string(out, setting.value);
        put_string(out, setting.default);
    }
}

fn put_transaction(out: &mut Vec<u8>, ended: &TransactionOver<'_>) {
    let (kind, why) = match ended.how {
        TransactionHow::Committed => (0, ""),
        TransactionHow::Aborted => (1, ""),
        TransactionHow::Failed(why) => (2, why),
    };
    out.extend(ended.asked_ns.to_be_bytes());
    out.extend(ended.ended_ns.to_be_bytes());
    out.push(kind);
    out.extend(ended.partitions.sure.to_be_bytes());
    out.extend(ended.partitions.unsure.to_be_bytes());
    put_string(out, why);
}

/// Outcomes of a client's records, as the process writes them.
pub(in crate::java) fn outcomes(client: u32, taken: &[TakenRecord], outcomes: &[RecordOutcome]) -> Vec<u8> {
    let pairs = taken.iter().flat_map(|taken| [taken.handed_ns, taken.accepted_ns]);
    let taken: Vec<u8> = pairs.flat_map(u64::to_be_bytes).collect();
    let mut known = Vec::new();
    for outcome in outcomes {
        known.extend(outcome.number.to_be_bytes());
        known.extend(outcome.known_ns.to_be_bytes());
        known.extend(outcome.reason.to_be_bytes());
    }
    said(&FromJava::Outcomes { client, taken: Taken(&taken), outcomes: Outcomes(&known) })
}

/// What a poll of a client returned, as the process writes it.
pub(in crate::java) fn consumed(client: u32, at_ns: u64, records: &[ConsumedRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend(record.partition.to_be_bytes());
        bytes.extend(record.offset.to_be_bytes());
        bytes.extend(record.bytes.to_be_bytes());
        bytes.extend(record.intended_ns.unwrap_or(i64::MIN).to_be_bytes());
    }
    said(&FromJava::Consumed { client, at_ns, records: ConsumedRecords(&bytes) })
}

/// A record as the process is handed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::java) struct ReceivedRecord {
    pub due_ns: u64,
    pub partition: i32,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
}

/// What the process hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::java) enum ToJava {
    Task { settings: String, topic: String, clients: Vec<(String, String)>, role: Vec<u8> },
    Records { client: u32, records: Vec<ReceivedRecord> },
    Until { client: u32, at: i64 },
    Token(String),
    End,
    Flush { client: u32 },
    Begin,
    CatchUp,
}

fn bytes(body: &mut BodyReader<'_>) -> Option<Vec<u8>> {
    let length = body.i32().expect("a length");
    usize::try_from(length).ok().map(|length| body.take(length).expect("bytes").to_vec())
}

fn string(body: &mut BodyReader<'_>) -> String {
    body.string().expect("a string").to_owned()
}

/// Reads a frame as the process does.
pub(in crate::java) fn heard(frame: &[u8]) -> ToJava {
    let mut body = BodyReader(frame);
    let heard = match body.u8().expect("a kind") {
        1 => {
            let (settings, topic) = (string(&mut body), string(&mut body));
            body.take(8).expect("numbers");
            let count = body.u32().expect("a count");
            let clients = (0..count).map(|_| (string(&mut body), string(&mut body))).collect();
            let role = body.take(body.0.len()).expect("a role").to_vec();
            ToJava::Task { settings, topic, clients, role }
        }
        2 => {
            let (client, count) = (body.u32().expect("a client"), body.u32().expect("a count"));
            let record = |body: &mut BodyReader<'_>| ReceivedRecord {
                due_ns: body.u64().expect("an instant"),
                partition: body.i32().expect("a partition"),
                key: bytes(body),
                value: bytes(body),
                headers: (0..body.u8().expect("a count"))
                    .map(|_| (string(body), bytes(body).expect("a value")))
                    .collect(),
            };
            ToJava::Records { client, records: (0..count).map(|_| record(&mut body)).collect() }
        }
        3 => ToJava::Until {
            client: body.u32().expect("a client"),
            at: body.u64().expect("an instant") as i64,
        },
        4 => ToJava::Token(string(&mut body)),
        5 => {
            body.u32().expect("milliseconds");
            ToJava::End
        }
        6 => ToJava::Flush { client: body.u32().expect("a client") },
        7 => ToJava::Begin,
        8 => ToJava::CatchUp,
        kind => panic!("a frame of kind {kind}"),
    };
    assert!(body.0.is_empty(), "{heard:?} goes on");
    heard
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let known = || proptest::option::of(0..u64::MAX >> 1);
    let text = "\\PC{0,20}";
    prop_oneof![
        (any::<u64>(), text, text, text).prop_map(|(at_ns, java, client, commit)| {
            said(&FromJava::Hello { at_ns, java: &java, client: &client, commit: &commit })
        }),
        (any::<u32>(), any::<u64>(), any::<u64>(), any::<u32>()).prop_map(
            |(client, began_ns, ready_ns, partitions)| {
                said(&FromJava::Ready { client, began_ns, ready_ns, partitions })
            }
        ),
        (
            any::<u32>(),
            proptest::collection::vec(any::<[u8; 16]>(), 0..20),
            proptest::collection::vec(any::<[u8; 18]>(), 0..20)
        )
            .prop_map(|(client, taken, outcomes)| {
                let (taken, outcomes) = (taken.as_flattened(), outcomes.as_flattened());
                said(&FromJava::Outcomes { client, taken: Taken(taken), outcomes: Outcomes(outcomes) })
            }),
        (any::<u16>(), text).prop_map(|(number, name)| said(&FromJava::Reason { number, name: &name })),
        (any::<u32>(), any::<u64>(), proptest::collection::vec(any::<[u8; 24]>(), 0..20)).prop_map(
            |(client, at_ns, records)| {
                said(&FromJava::Consumed { client, at_ns, records: ConsumedRecords(records.as_flattened()) })
            }
        ),
        (any::<u32>(), known()).prop_map(|(client, records)| said(&FromJava::Lag { client, records })),
        (any::<u64>(), known(), known(), known()).prop_map(|(at_ns, cpu_ns, threads_cpu_ns, heap_bytes)| {
            let (allocated_bytes, collections, collections_ns) = (cpu_ns, None, heap_bytes);
            said(&FromJava::Readings(JavaCost {
                at_ns,
                cpu_ns,
                threads_cpu_ns,
                allocated_bytes,
                collections,
                collections_ns,
                heap_bytes,
            }))
        }),
        (any::<u64>(), any::<u8>(), text).prop_map(|(at_ns, kind, text)| said(&FromJava::Event {
            at_ns,
            kind,
            text: &text
        })),
        (any::<u32>(), text).prop_map(|(client, text)| said(&FromJava::Metrics { client, text: &text })),
        (any::<u8>(), text).prop_map(|(kind, text)| said(&FromJava::Failed { kind, text: &text })),
        Just(said(&FromJava::Ended)),
        (any::<u32>(), any::<u64>(), 0..3usize, any::<i32>(), proptest::collection::vec(any::<i32>(), 0..9))
            .prop_map(|(client, at_ns, change, generation, partitions)| {
                let change =
                    [OwnershipChange::Gained, OwnershipChange::GivenUp, OwnershipChange::Lost][change];
                said(&FromJava::Assignment { client, at_ns, change, generation, partitions })
            }),
        any::<u32>().prop_map(|client| said(&FromJava::CaughtUp { client })),
        (proptest::collection::vec(text, 0..5), 0..3usize).prop_map(|(texts, origin)| {
            let origin = [ValueOrigin::Default, ValueOrigin::Given, ValueOrigin::Derived][origin];
            let settings =
                texts.iter().map(|text| JavaSetting { name: text, origin, value: text, default: "8" });
            said(&FromJava::Settings(settings.collect()))
        }),
    ]
}

proptest! {
    /// However the socket cuts them, frames come out whole and in order, and say what was said.
    #[test]
    fn frames_come_back_however_they_are_cut(
        frames in proptest::collection::vec(any_frame(), 0..12),
        cuts in proptest::collection::vec(1usize..200, 1..40),
    ) {
        let whole: Vec<u8> = frames.concat();
        let (mut decoder, mut found, mut at) = (Decoder::default(), Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            let piece = &whole[at..(at + cut).min(whole.len())];
            decoder.room()[..piece.len()].copy_from_slice(piece);
            decoder.filled(piece.len());
            at += piece.len();
            while let Some(frame) = decoder.take().expect("frames") {
                found.push(said(&read(frame).expect("a frame")));
            }
            if at == whole.len() {
                break;
            }
        }
        prop_assert_eq!(found, frames);
    }

    #[test]
    fn a_frame_that_is_cut_off_or_goes_on_is_refused(frame in any_frame(), at in any::<prop::sample::Index>()) {
        let body = &frame[4..];
        prop_assert!(read(body).is_ok());
        prop_assert!(read(&body[..at.index(body.len())]).is_err());
        let longer: Vec<u8> = body.iter().copied().chain([0]).collect();
        prop_assert!(read(&longer).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic_or_allocate(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let mut decoder = Decoder::default();
        decoder.room()[..bytes.len()].copy_from_slice(&bytes);
        decoder.filled(bytes.len());
        while let Ok(Some(frame)) = decoder.take() {
            let _ = read(frame);
        }
        prop_assert!(decoder.bytes.len() <= READ_BYTES);
    }

    #[test]
    fn the_process_decodes_the_frames_that_it_is_sent(
        settings in "\\PC{0,30}",
        clients in proptest::collection::vec(("\\PC{0,9}", "\\PC{0,9}"), 0..5),
        token in "[!-~]{0,40}",
        client in any::<u32>(),
    ) {
        let mut out = Vec::new();
        let pace = TransactionPace { plan: TransactionsPlan { every_ns: 7, records: Some(5), abort_share: 0.5 }, seed: u64::MAX };
        let role = TaskRole::Produce { is_synchronous: true, stamps: Some(-2), transactions: Some(pace) };
        task(&mut out, &Task { settings: &settings, topic: "t", numbers: (3, 9), clients: &clients, role });
        super::token(&mut out, token.as_bytes());
        until(&mut out, client, u64::MAX);
        flush(&mut out, client);
        let mut decoder = Decoder::default();
        decoder.room()[..out.len()].copy_from_slice(&out);
        decoder.filled(out.len());
        let mut next = || heard(decoder.take().expect("frames").expect("a frame"));
        let pace = [7u64.to_be_bytes(), 0.5f64.to_be_bytes(), [0xff; 8], 5u64.to_be_bytes()].concat();
        let role = [vec![0, 1, 1], (-2i64).to_be_bytes().to_vec(), pace].concat();
        prop_assert_eq!(next(), ToJava::Task { settings, topic: "t".to_owned(), clients, role });
        prop_assert_eq!(next(), ToJava::Token(token));
        prop_assert_eq!(next(), ToJava::Until { client, at: i64::MAX });
        prop_assert_eq!(next(), ToJava::Flush { client });
    }
}

#[test]
fn a_frame_above_the_limit_is_refused_before_it_is_read() {
    let mut decoder = Decoder::default();
    decoder.room()[..4].copy_from_slice(&(FRAME_BYTES_MAX as u32 + 1).to_be_bytes());
    decoder.filled(4);
    assert_eq!(decoder.take(), Err(FrameError("a frame that is too long")));
}

#[test]
fn settings_that_no_client_has_are_refused() {
    let setting = JavaSetting { name: "acks", origin: ValueOrigin::Given, value: "1", default: "all" };
    let whole = said(&FromJava::Settings(vec![setting]));
    let frame = &whole[4..];
    assert_eq!(super::read(frame).expect("one"), FromJava::Settings(vec![setting]));
    let mut many = frame.to_vec();
    many[1..5].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(super::read(&many).is_err(), "a count alone reserves nothing");
    let mut other = frame.to_vec();
    other[1 + 4 + 4 + 4] = 9;
    assert!(super::read(&other).is_err());
}
