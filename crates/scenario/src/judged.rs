//! What is judged in words of metrics: `writers.acked_per_s[batch=16KiB] >= 1.5 * writers.acked_per_s[batch=1KiB]`,
//! `writers.response.p99 <= 20ms`. Names are resolved and units agree once such a text is read.

mod sides;

pub use sides::{Expr, MetricOf, Operator};

use crate::expr::{DEPTH_MAX, TEXT_BYTES_MAX};
use crate::file::ScenarioFile;
use crate::input::{InputError, TextPosition, quoted};
use crate::names::{known_param, metric_hint, metric_of};
use crate::yaml::Scalar;
use kdyno_model::plan::ClaimOp;
use sides::{ExprSide, described, folded, literal, single, units_of};

/// Two sides and how they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Left side.
    pub left: Expr,
    /// How they are compared.
    pub op: ClaimOp,
    /// Right side.
    pub right: Expr,
}

/// Reads a comparison of figures.
///
/// # Errors
/// A syntax error, an unknown metric or param, sides whose units differ; with its place.
pub fn comparison(typed: &Scalar, file: &ScenarioFile) -> Result<Comparison, InputError> {
    if typed.text.len() > TEXT_BYTES_MAX {
        let message = format!("the expression is longer than {TEXT_BYTES_MAX} bytes");
        return Err(InputError::at(typed.place, message));
    }
    let mut parser = JudgedParser { typed, file, at: 0, depth: 0 };
    let left = parser.sum()?;
    let op = parser.op()?;
    let right = parser.sum()?;
    if let Some(c) = parser.peek() {
        let message = format!("expected the end of the expression, found {}", quoted(&c.to_string()));
        let error = InputError::at(parser.place(), message);
        let is_comparison = matches!(c, '<' | '>' | '=');
        return Err(if is_comparison { error.hint("one comparison each: write two of them") } else { error });
    }
    if !left.expr.has_metric() && !right.expr.has_metric() {
        return Err(InputError::at(typed.place, "no metric is in the expression").hint(metric_hint(file)));
    }
    let (left, right) = parser.alike(left, right, typed.place, "are compared")?;
    Ok(Comparison { left: left.expr, op, right: right.expr })
}

struct JudgedParser<'a> {
    typed: &'a Scalar,
    file: &'a ScenarioFile,
    /// Bytes read.
    at: usize,
    depth: u32,
}

impl<'a> JudgedParser<'a> {
    fn rest(&self) -> &'a str {
        &self.typed.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        if there {
            self.at += c.len_utf8();
        }
        there
    }

    /// Place of the next character; a text of several lines has the place of its beginning.
    fn place(&self) -> TextPosition {
        let TextPosition { line, column } = self.typed.place;
        if line == 0 {
            return self.typed.place;
        }
        let before = self.typed.text[..self.at].chars().count() + usize::from(self.typed.quoted);
        TextPosition { line, column: column.saturating_add(u32::try_from(before).unwrap_or(0)) }
    }

    fn wrong(&self, message: impl Into<String>) -> InputError {
        InputError::at(self.place(), message)
    }

    fn op(&mut self) -> Result<ClaimOp, InputError> {
        self.peek();
        let all = [
            ("<=", ClaimOp::AtMost),
            (">=", ClaimOp::AtLeast),
            ("≤", ClaimOp::AtMost),
            ("≥", ClaimOp::AtLeast),
            ("<", ClaimOp::Less),
            (">", ClaimOp::Greater),
        ];
        let found = all.into_iter().find(|(text, _)| self.rest().starts_with(text));
        let Some((text, op)) = found else {
            let there = self.rest().chars().next();
            let there =
                there.map_or("the expression ends".to_owned(), |c| format!("{} is", quoted(&c.to_string())));
            let error = self.wrong(format!("{there} where `<`, `<=`, `>` or `>=` belongs"));
            let equal = self.rest().starts_with('=');
            return Err(if equal { error.hint("figures that are measured are never equal") } else { error });
        };
        self.at += text.len();
        Ok(op)
    }

    fn sum(&mut self) -> Result<ExprSide, InputError> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Some('+') => Operator::Sum,
                Some('-') => Operator::Difference,
                _ => return Ok(left),
            };
            let place = self.place();
            self.at += 1;
            let right = self.product()?;
            let (one, other) = self.alike(left, right, place, "are added")?;
            left = folded(op, one, other);
        }
    }

    fn product(&mut self) -> Result<ExprSide, InputError> {
        let mut left = self.factor()?;
        loop {
            let op = match self.peek() {
                Some('*') => Operator::Product,
                Some('/') => Operator::Quotient,
                _ => return Ok(left),
            };
            let place = self.place();
            self.at += 1;
            let right = self.factor()?;
            if op == Operator::Quotient && right.expr == Expr::Number(0.0) {
                return Err(InputError::at(place, "the expression divides by zero"));
            }
            left = folded(op, left, right);
        }
    }

    fn factor(&mut self) -> Result<ExprSide, InputError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(format!("the expression is nested more than {DEPTH_MAX} deep")));
        }
        let side = match self.peek() {
            Some('(') => {
                self.eat('(');
                let side = self.sum()?;
                match self.eat(')') {
                    true => Ok(side),
                    false => Err(self.wrong("a `(` has no `)`")),
                }
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.metric(),
            Some(c) => {
                let found = quoted(&c.to_string());
                let error = self.wrong(format!("expected a number or a metric, found {found}"));
                Err(error.hint(metric_hint(self.file)))
            }
            None => {
                let error = self.wrong("the expression ends where a number or a metric belongs");
                Err(error.hint(metric_hint(self.file)))
            }
        }?;
        self.depth -= 1;
        Ok(side)
    }

    fn number(&mut self) -> Result<ExprSide, InputError> {
        let rest = self.rest();
        let digits =
            rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(rest.len());
        let unit = rest[digits..].find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '%' | 'µ')));
        let mut end = unit.map_or(rest.len(), |at| digits + at);
        // A rate's `/s` belongs to the number; any other `/` divides.
        for per in ["/s", "/min", "/m", "/h"] {
            let after = rest[end..].strip_prefix(per);
            if after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric())) {
                end += per.len();
                break;
            }
        }
        let word = &rest[..end];
        let side = literal(word).ok_or_else(|| {
            self.wrong(format!("{} is no number with a unit that is known", quoted(word)))
                .hint("e.g. `1.5`, `20ms`, `50k/s`, `16KiB`, `20MiB/s`, `80%`")
        })?;
        self.at += end;
        Ok(side)
    }

    fn metric(&mut self) -> Result<ExprSide, InputError> {
        let place = self.place();
        let rest = self.rest();
        let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let end = rest.find(|c: char| !in_name(c)).unwrap_or(rest.len());
        let name = Scalar { text: rest[..end].to_owned(), place, quoted: false };
        let (of, unit) = metric_of(&name, self.file)?;
        self.at += end;
        let case = if self.eat('[') { self.selector()? } else { Vec::new() };
        let units = units_of(unit);
        Ok(ExprSide { expr: Expr::Metric(MetricOf { of, unit, case, place }), units, written: None })
    }

    /// `param=value, …]`.
    fn selector(&mut self) -> Result<Vec<(Scalar, Scalar)>, InputError> {
        let Some(length) = self.rest().find(']') else { return Err(self.wrong("a `[` has no `]`")) };
        let end = self.at + length;
        let mut found = Vec::new();
        while self.at < end {
            let part = &self.typed.text[self.at..end];
            let part = part.split(',').next().unwrap_or(part);
            let Some((name, value)) = part.split_once('=') else {
                return Err(self
                    .wrong(format!("{} selects no case", quoted(part.trim())))
                    .hint("write `[param=value]`, several with commas"));
            };
            let blanks = |text: &str| text.len() - text.trim_start().len();
            let begin = self.at;
            self.at = begin + blanks(name);
            let name = Scalar { text: name.trim().to_owned(), place: self.place(), quoted: false };
            self.at = begin + part.len() - value.len() + blanks(value);
            let value = Scalar { text: value.trim().to_owned(), place: self.place(), quoted: false };
            known_param(&name, self.file)?;
            found.push((name, value));
            self.at = (begin + part.len() + 1).min(end);
        }
        self.at = end + 1;
        match found.is_empty() {
            true => Err(self.wrong("`[]` selects no case").hint("write `[param=value]`")),
            false => Ok(found),
        }
    }

    /// Both sides in one unit.
    fn alike(
        &self,
        left: ExprSide,
        right: ExprSide,
        place: TextPosition,
        done: &str,
    ) -> Result<(ExprSide, ExprSide), InputError> {
        let (wanted_left, wanted_right) = (right.units, left.units);
        let (left, right) = (left.fit(wanted_left), right.fit(wanted_right));
        if left.units == right.units {
            return Ok((left, right));
        }
        let message = format!("{} and {} {done}", described(left.units), described(right.units));
        let units = [left.units, right.units].map(single);
        let hint = match units[0].or(units[1]) {
            _ if matches!(units, [Some(1), Some(6)] | [Some(6), Some(1)]) => {
                "a count is a plain number; `lag` is records, `lag_time` its time"
            }
            Some(0) => "a size has its unit, e.g. `16KiB`",
            Some(1) => "a duration has its unit, e.g. `20ms`",
            Some(2) => "a rate has its unit, e.g. `50k/s`",
            Some(3) => "write e.g. `20MiB/s`",
            Some(6) => "a count is a plain number; for a share take e.g. `failed_share`",
            _ => "both sides must be of one unit",
        };
        Err(InputError::at(place, message).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::names::with_only_item;
    use proptest::prelude::*;

    fn scenario() -> Scenario {
        let text = "kdyno: 1\nid: x\nquestion: why?\nparams: {batch: 1KiB, acks: 1}\n\
                    topics: {t: {partitions: 1}}\nload: {w: {produce: t, rate: max, value: 1KiB}, my-r: {consume: t}}\n\
                    phases: {measure: 1s}\n";
        Scenario::parse(text, "x.yaml").expect("a scenario")
    }

    fn typed(text: &str) -> Scalar {
        Scalar { text: text.to_owned(), place: TextPosition { line: 7, column: 10 }, quoted: false }
    }

    fn reported(expr: &Expr) -> String {
        match expr {
            Expr::Number(number) => number.to_string(),
            Expr::Metric(MetricOf { of, case, .. }) if case.is_empty() => of.to_string(),
            Expr::Metric(MetricOf { of, case, .. }) => {
                let case = case.iter().map(|(name, value)| format!("{}={}", name.text, value.text));
                format!("{of}[{}]", case.collect::<Vec<_>>().join(","))
            }
            Expr::Binary(op, left, right) => format!("({op:?} {} {})", reported(left), reported(right)),
        }
    }

    fn read(text: &str) -> Result<String, String> {
        let scenario = scenario();
        let read = comparison(&typed(text), scenario.typed());
        let read =
            read.map(|read| format!("{} {:?} {}", reported(&read.left), read.op, reported(&read.right)));
        read.map_err(|error| {
            let TextPosition { line, column } = error.place.expect("a place");
            format!("{line}:{column}: {} | {}", error.message, error.hint.unwrap_or_default())
        })
    }

    #[test]
    fn expressions_are_read_in_the_unit_of_the_metric() {
        let cases = [
            ("w.response.p99 <= 20ms", "w.response.p99 AtMost 20000000"),
            ("50k/s < w.acked_per_s", "50000 Less w.acked_per_s"),
            ("w.acked_mib_per_s >= 20MiB/s", "w.acked_mib_per_s AtLeast 20"),
            ("w.failed_share <= 0.1%", "w.failed_share AtMost 0.001"),
            ("w.failed <= 3", "w.failed AtMost 3"),
            ("brokers.cpu_percent <= 80%", "brokers.cpu_percent AtMost 80"),
            ("brokers.cpu_percent <= 80", "brokers.cpu_percent AtMost 80"),
            ("brokers.cpu_us_per_record < 40us", "brokers.cpu_us_per_record Less 40"),
            (
                "w.acked_per_s[batch=16KiB, acks=all] >= 1.8*w.acked_per_s[ batch = 1KiB ]",
                "w.acked_per_s[batch=16KiB,acks=all] AtLeast (Product 1.8 w.acked_per_s[batch=1KiB])",
            ),
            (
                "(w.response.p99 - w.response.p50) / 2 > 1ms + w.response.p50",
                "(Quotient (Difference w.response.p99 w.response.p50) 2) Greater (Sum 1000000 w.response.p50)",
            ),
            (
                "w.acked_per_s / my-r.fetched_per_s >= 99%",
                "(Quotient w.acked_per_s my-r.fetched_per_s) AtLeast 0.99",
            ),
        ];
        for (text, result) in cases {
            assert_eq!(read(text).as_deref(), Ok(result), "{text}");
        }
    }

    #[test]
    fn errors_have_their_place() {
        let cases = [
            ("w.response.p98 <= 1ms", "7:10: `response.p98` is not a metric of `w`"),
            ("1ms >= x.response.p99", "7:17: `x` is neither a load item"),
            (
                "p99 > 50ms",
                "7:10: `p99` is not a metric address | did you mean `w.response.p99` or `my-r.end_to_end.p99`?",
            ),
            (
                "p99.9 > 50ms",
                "a part of the system | did you mean `w.response.p99.9` or `my-r.end_to_end.p99.9`?",
            ),
            ("end_to_end.mean > 50ms", "a part of the system | did you mean `my-r.end_to_end.mean`?"),
            ("cpu_percent > 80%", "is not a metric address | did you mean `brokers.cpu_percent`?"),
            ("imported-rds.CPU < 80%", "7:10: `imported-rds` is imported into a run when it is over"),
            (
                "w.response.p99 <= 20",
                "7:10: a duration and a plain number are compared | a duration has its unit",
            ),
            ("w.response.p99 + 5 < 1ms", "7:25: a duration and a plain number are added"),
            ("w.failed <= 0.1%", "7:10: a count and a plain number are compared | a count is a plain number"),
            (
                "w.acked_per_s[btch=1] > 1/s",
                "7:24: `btch` is not a param of this scenario | did you mean `batch`?",
            ),
            ("w.acked_per_s[batch] > 1/s", "7:24: `batch` selects no case"),
            ("w.acked_per_s[batch=1 > 1/s", "a `[` has no `]`"),
            (
                "w.acked_per_s = 1/s",
                "7:24: `=` is where `<`, `<=`, `>` or `>=` belongs | figures that are measured",
            ),
            ("w.acked_per_s", "the expression ends where `<`"),
            (
                "1 < 2",
                "no metric is in the expression | name a metric, e.g. `w.response.p99`, and a limit such as `50ms`",
            ),
            (
                "> 50 ms",
                "7:10: expected a number or a metric, found `>` | name a metric, e.g. `w.response.p99`",
            ),
            ("w.acked_per_s >", "the expression ends where a number or a metric belongs | name a metric"),
            ("w.acked_per_s > 5parsecs", "7:26: `5parsecs` is no number"),
            ("w.acked_per_s > 1/s > 2/s", "one comparison each"),
            ("w.acked_per_s / 0 > 1/s", "divides by zero"),
            ("(w.acked_per_s > 1/s", "a `(` has no `)`"),
            ("w.acked_per_s * w.acked_per_s > 1/s", "a product of units and records/s are compared"),
        ];
        for (text, part) in cases {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(read(&"(".repeat(100)).expect_err("deep").contains("nested"));
    }

    #[test]
    fn metrics_that_one_item_has_need_no_name_of_it() {
        let text = "kdyno: 1\nid: x\nquestion: why?\ntopics: {t: {partitions: 1}}\n\
                    load: {w: {produce: t, rate: max, value: 1KiB}}\nphases: {measure: 1s}\n";
        let one = Scenario::parse(text, "x.yaml").expect("a scenario");
        let cases = [
            ("p99 > 50ms", "w.response.p99 > 50ms"),
            ("1.5*acked_per_s<50k/s", "1.5*w.acked_per_s<50k/s"),
            ("response.mean ≥ 1ms", "w.response.mean ≥ 1ms"),
            ("w.response.p99 > 50ms", "w.response.p99 > 50ms"),
            ("cpu_percent > 80%", "cpu_percent > 80%"),
            ("p99[p50=max,acks=mean] > p50", "w.response.p99[p50=max,acks=mean] > w.response.p50"),
            ("> 50 ms", "> 50 ms"),
            ("", ""),
        ];
        for (typed, whole) in cases {
            assert_eq!(with_only_item(typed, one.typed()), whole);
        }
        for (typed, whole) in [("p99 > 50ms", "p99 > 50ms"), ("acked_per_s < 1/s", "w.acked_per_s < 1/s")] {
            assert_eq!(with_only_item(typed, scenario().typed()), whole, "of two items");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn near_expressions_do_not_panic(text in "(w\\.acked_per_s|my-r|[0-9.]{1,3}|[-+*/()<>=, µ%k]|ms|\\[batch=|\\]|[a-z]){0,20}") {
            let _ = read(&text);
        }
    }
}
