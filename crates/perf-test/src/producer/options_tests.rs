//! Lines of arguments as they are typed for Kafka's own tool.

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn read_line(line: &str) -> Result<ProducerOptions, StartRefusal> {
    read(&words(line))
}

fn options(line: &str) -> ProducerOptions {
    read_line(line).map_err(|refusal| format!("{line}: {refusal:?}")).expect("options")
}

/// The last line of the message, without line breaks of its own.
fn refused(line: &str) -> String {
    match read_line(line).map(|_| ()).expect_err(line) {
        StartRefusal::Wrong(text) => {
            assert!(text.starts_with("usage: kafka-producer-perf-test\n       [-h] "), "{text}");
            let (_, error) = text.split_once("kafka-producer-perf-test: error: ").expect("an error");
            let (error, meant) = error.split_once("\n\n").unwrap_or((error, ""));
            format!(
                "{}{}",
                error.trim_end().replace('\n', " "),
                meant.replace('\n', " ").replace('\t', "").trim_end()
            )
        }
        StartRefusal::Failed(text) => text,
        StartRefusal::Help { .. } => panic!("{line}: help"),
    }
}

/// Huawei's: everything behind `--producer-props` up to the next flag is a property.
const HUAWEI: &str = "--producer-props bootstrap.servers=b1:9092,b2:9092 acks=1 batch.size=16384 linger.ms=0 --topic t \
                      --num-records 8000000 --record-size 1024 --throughput 102400";
/// IBM's: with a properties file.
const IBM: &str = "--topic t --num-records 20000000 --record-size 128 --throughput -1 --producer.config /etc/producer.config";
/// Intel's.
const INTEL: &str = "--topic t --payload-file /data/words.txt --payload-delimiter \\| --num-records 15000000 \
                     --warmup-records 3000000 --throughput 50000 --print-metrics --bootstrap-server b1:9092 \
                     --command-property acks=all compression.type=zstd batch.size=114688 linger.ms=5";

#[test]
fn the_lines_of_reports_are_read() {
    let huawei = options(HUAWEI);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        huawei.properties,
        [
            pair("bootstrap.servers", "b1:9092,b2:9092"),
            pair("acks", "1"),
            pair("batch.size", "16384"),
            pair("linger.ms", "0")
        ]
    );
    assert_eq!(
        (huawei.records, huawei.value, huawei.throughput),
        (8_000_000, RecordContent::Letters(1024), Some(102_400.0))
    );
    assert_eq!(huawei.deprecated, [("--producer-props", "--command-property")]);
    assert_eq!((huawei.interval_ms, huawei.warmup_records, huawei.print_metrics), (5_000, 0, false));

    let ibm = options(IBM);
    assert_eq!((ibm.throughput, ibm.config.as_deref()), (None, Some("/etc/producer.config")));
    assert_eq!(ibm.deprecated, [("--producer.config", "--command-config")]);

    let intel = options(INTEL);
    assert_eq!(
        (intel.value.clone(), intel.delimiter.as_str()),
        (RecordContent::File("/data/words.txt".to_owned()), "\\|")
    );
    assert_eq!((intel.warmup_records, intel.print_metrics), (3_000_000, true));
    assert_eq!((intel.bootstrap.as_deref(), intel.properties.len()), (Some("b1:9092"), 4));
    assert!(intel.deprecated.is_empty() && intel.transactions_ms(false).is_none());
}

const SHORT: &str = "--topic t --num-records 10 --record-size 5 --throughput -1 --bootstrap-server b:1";

#[test]
fn flags_may_be_cut_short_hold_their_value_and_come_twice() {
    let same = options("--top=t --num 9 --num-records=10 --record 5 --throughput=-1 --boot b:1");
    assert!(same == options(SHORT));
    assert_eq!(options(&format!("{SHORT} --throughput 2.5e3")).throughput, Some(2_500.0));
    for none in ["-5", "2147483647"] {
        assert_eq!(options(&format!("{SHORT} --throughput {none}")).throughput, None);
    }
    let props = options(&format!("{SHORT} --command-property=acks=1 --command-property linger.ms=1 x=y"));
    assert_eq!(props.properties.len(), 2, "the later list counts");
    assert_eq!(options(&format!("{SHORT} --payload-delimiter=")).delimiter, "");
    let login = "sasl.jaas.config=x.Module required a=\"b=c\";";
    let args = [words(SHORT), vec!["--command-property".to_owned(), login.to_owned()]].concat();
    let read = read(&args).map_err(|refusal| format!("{refusal:?}")).expect("options");
    assert!(read.properties[0].1.ends_with("a=\"b=c\";"));
}

/// It is kdyno's own: nothing of the tool's usage has it, and no beginning of it means it.
#[test]
fn the_driver_has_to_be_typed_whole() {
    assert_eq!(options(SHORT).driver, DriverChoice::Native);
    for typed in ["--driver java:4.1.1", "--driver=java:4.1.1", "--command-property a=b --driver java:4.1.1"]
    {
        let read = options(&format!("{SHORT} {typed}"));
        assert_eq!(read.driver, DriverChoice::Java(Some("4.1.1".to_owned())), "{typed}");
        assert!(read.command_line().join(" ").contains("--driver java:4.1.1"));
    }
    assert!(!options(SHORT).command_line().contains(&DRIVER.to_owned()));
    let refused_with = |more: &str| refused(&format!("{SHORT} {more}"));
    assert_eq!(refused_with("--drive java"), "unrecognized arguments: '--drive'");
    assert_eq!(refused_with("--driver"), "argument --driver: expected one argument");
    assert!(
        refused_with("--driver librdkafka").starts_with("--driver: `librdkafka` is none of native, java")
    );
    let Err(StartRefusal::Wrong(text)) = read_line("--topic t") else { panic!("wrong") };
    assert!(!text.contains(DRIVER), "{text}");
}

#[test]
fn transactions_are_asked_for_in_three_ways() {
    let with = |more: &str| options(&format!("{SHORT} {more}"));
    assert_eq!(with("").transactions_ms(true), Some(3_000));
    assert_eq!(with("--transactional-id x").transactions_ms(false), Some(3_000));
    assert_eq!(with("--transaction-duration-ms 50").transactions_ms(true), Some(50));
}

#[test]
fn errors_have_the_tools_words() {
    let with = |more: &str| refused(&format!("{SHORT} {more}"));
    for (reported, words) in [
        (refused("--topic t"), "argument --throughput is required"),
        (
            refused("--topic t --num-records 1 --throughput -1"),
            "one of the arguments --record-size --payload-file --payload-monotonic is required",
        ),
        (with("--payload-file f"), "argument --payload-file: not allowed with argument --record-size"),
        (
            with("--payload-monotonic"),
            "argument --payload-monotonic: not allowed with argument --record-size",
        ),
        (with("--topics t"), "unrecognized arguments: '--topics'Did you mean: --topic"),
        (with("--compression-codec x"), "unrecognized arguments: '--compression-codec'"),
        (with("more words"), "unrecognized arguments: 'more words'"),
        (
            with("--payload x"),
            "ambiguous option: --payload could match --payload-delimiter, --payload-file, --payload-monotonic",
        ),
        (with("--num-records"), "argument --num-records: expected one argument"),
        (with("--throughput -1.5"), "argument --throughput: expected one argument"),
        (with("--command-property"), "argument --command-property: expected 1 argument(s)"),
        (with("--print-metrics=yes"), "argument --print-metrics: ignore implicit argument 'yes'"),
        (
            with("--num-records ten"),
            "argument --num-records: could not convert 'ten' to Long (For input string: \"ten\")",
        ),
        (
            with("--record-size 3000000000"),
            "argument --record-size: could not convert '3000000000' to Integer",
        ),
        (with("--throughput fast"), "argument --throughput: could not convert 'fast' to Double"),
        (with("--num-records 0"), "--num-records should be greater than zero."),
        (with("--record-size 0"), "--record-size should be greater than zero."),
        (
            with("--warmup-records 10"),
            "The value for --warmup-records must be strictly fewer than the number of records",
        ),
        (with("--reporting-interval 0"), "--reporting-interval should be greater than zero."),
        (with("--transaction-duration-ms 0"), "--transaction-duration-ms should be greater than zero."),
        (
            refused("--topic t --num-records 1 --throughput -1 --record-size 1"),
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or --command-config",
        ),
        (
            with("--producer-props acks=1 --command-property acks=1"),
            "--command-property and --producer-props cannot be specified together.",
        ),
        (
            with("--producer.config a --command-config b"),
            "--command-config and --producer.config cannot be specified together.",
        ),
        (with("--producer-props acks"), "Invalid property: what was typed has no `=`"),
        (with("--throughput 0"), "--throughput 0 would never end"),
    ] {
        assert!(reported.starts_with(words), "{reported:?} instead of {words:?}");
    }
}

#[test]
fn help_is_for_who_asks_and_who_says_nothing() {
    let help_of = |line: &str| match read_line(line).map(|_| ()).expect_err("help") {
        StartRefusal::Help { text, exit } => (text, exit),
        other => panic!("{other:?}"),
    };
    let (text, exit) = help_of("");
    assert_eq!(exit, 0);
    for line in ["--help", "-h", "--topic t -h --nonsense", "--he"] {
        assert_eq!(help_of(line), (text.clone(), 1), "{line}");
    }
    for flag in FLAGS {
        assert!(text.contains(&format!("  {}", flag.name)), "{}", flag.name);
    }
    assert!(text.contains("(--record-size RECORD-SIZE |") && text.contains("[--print-metrics]"), "{text}");
    assert!(text.contains("(default: \\n)") && text.contains("(default: 5000)"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 82), "{text}");
}

#[test]
fn what_is_stored_of_the_line_says_nothing_of_the_cluster() {
    let typed = format!("{INTEL} --command-config c.properties --transactional-id me");
    let typed = typed.replace(
        "acks=all",
        "acks=all sasl.jaas.config=hunter2 ssl.key.password=hunter2 transactional.id=me2",
    );
    let kept = options(&typed).command_line().join(" ");
    assert_eq!(
        kept,
        "--bootstrap-server redacted --topic redacted --num-records 15000000 --payload-file /data/words.txt \
         --payload-delimiter \\| --throughput 50000 --command-config c.properties --print-metrics --transactional-id \
         redacted --warmup-records 3000000 --reporting-interval 5000 --command-property acks=redacted \
         sasl.jaas.config=redacted ssl.key.password=redacted transactional.id=redacted compression.type=redacted \
         batch.size=redacted linger.ms=redacted"
    );
    assert!(!kept.contains("hunter2") && !kept.contains("b1:9092"));
    let again = read(&words(&kept)).map_err(|refusal| format!("{refusal:?}")).expect("options");
    assert_eq!(again.command_line().join(" "), kept);
    assert!(
        options(&SHORT.replace("--record-size 5", "--payload-monotonic"))
            .command_line()
            .contains(&"--payload-monotonic".to_owned())
    );
}
