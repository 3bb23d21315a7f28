//! What commands report, in each form.

use super::*;
use kdyno_model::event::Subject;
use kdyno_model::plan::CsvColumns;
use kdyno_model::plan::command::series;

fn read(format: OutputFormat, columns: CsvColumns, text: &str) -> CommandTotals {
    let labels =
        [("find", "a"), ("pay", "Pay, \"now\"")].map(|(name, label)| (name.to_owned(), label.to_owned()));
    let mut reader =
        CommandReader::new(&ParsePlan { format, file: None, columns, labels: labels.into(), apart: None });
    text.lines().for_each(|line| reader.line(line.as_bytes(), 0));
    reader.finish()
}

#[test]
fn results_of_jmeter_are_read_with_and_without_a_header() {
    let rows = "1760000000000,120,HTTP Request,200,OK,Thread 1-1,text,true,,100,200,1,1,http://x,110,0,5\n\
                1760000000500,80,\"a, \"\"b\"\"\",500,\"Internal\nerror\",Thread 1-1,text,false,,100,200,1,1,null,70,0,0\n";
    let header =
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage\r\n";
    for text in [format!("{header}{rows}"), rows.to_owned()] {
        let reported = read(OutputFormat::Jtl, CsvColumns::default(), &text);
        assert_eq!((reported.requests, reported.errors, reported.unparsed), (2, 1, 0), "{text}");
        assert!(reported.has_errors);
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let columns = CsvColumns {
        elapsed: "ms".to_owned(),
        time: "when".to_owned(),
        success: "status".to_owned(),
        label: "name".to_owned(),
    };
    let text = "status,name,ms\n204,a,1.5\n404,b,2\n\n500,c,3\nodd,d,4\n200,e\n";
    let reported = read(OutputFormat::Csv, columns, text);
    assert_eq!((reported.requests, reported.errors, reported.unparsed), (3, 2, 2));
}

#[test]
fn garbage_is_counted_and_nothing_else() {
    let garbage = "hello\n{}\n\u{1}\u{2},,,\n-1,nan,inf\n\"never closed\n1,2";
    for format in [OutputFormat::Csv, OutputFormat::Jtl, OutputFormat::K6Json, OutputFormat::PerfTest] {
        let reported = read(format, CsvColumns::default(), garbage);
        assert_eq!((reported.requests, reported.errors), (0, 0), "{format}");
        assert!(reported.unparsed >= 2, "{format}: {}", reported.unparsed);
    }
}

/// Requests and errors of a subject, as its readings have them at the end.
fn counted(reported: &CommandTotals, subject: &str) -> (Option<f64>, Option<f64>) {
    let own = Subject::Item(subject.to_owned());
    let readings = reported.readings("users", 0, 0, 1_000_000_000);
    let last = |series: &str| {
        readings.iter().rfind(|one| one.subject == own && one.series == series).map(|one| one.value)
    };
    (last(series::REQUESTS_TOTAL), last(series::ERRORS_TOTAL))
}

#[test]
fn requests_with_a_label_count_in_the_whole_and_by_themselves() {
    let jtl = "timeStamp,elapsed,label,success\n1,5,a,true\n2,7,\"Pay, \"\"now\"\"\",false\n3,9,other,true\n4,6,a,true\n";
    let k6 = r#"{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:00.5Z","value":5,"tags":{"name":"a"}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:00.5Z","value":7,"tags":{"name":"Pay, \"now\""}}}
{"metric":"http_req_failed","type":"Point","data":{"time":"1970-01-01T00:00:00.5Z","value":1,"tags":{"name":"Pay, \"now\""}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:00.5Z","value":9}}
{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:00.5Z","value":6,"tags":{"name":"a"}}}"#;
    for (format, text) in [(OutputFormat::Jtl, jtl), (OutputFormat::K6Json, k6)] {
        let reported = read(format, CsvColumns::default(), text);
        assert_eq!(counted(&reported, "users"), (Some(4.0), Some(1.0)), "{format}");
        assert_eq!(counted(&reported, "find"), (Some(2.0), Some(0.0)), "{format}");
        assert_eq!(counted(&reported, "pay"), (Some(1.0), Some(1.0)), "{format}");
    }
}
