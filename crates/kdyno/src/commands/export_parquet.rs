//! The course of each trial as Parquet, for DuckDB and data frames: the rows of `series-csv`, with types.

use kdyno_report::ReportInput;
use kdyno_report::csv::{self, CsvPoint, TrialCells};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{PrimitiveTypeBuilder, Type, TypePtr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a group: an hour of seventy series, about 20 MB while they are written.
const ROWS_MAX: usize = 1 << 18;

/// Every second of every stream, then every reading of CPU time and other resources, then what was imported and what
/// commands reported.
///
/// # Errors
/// What the writer says of rows that it cannot write; there is none known.
pub(crate) fn series(input: &ReportInput<'_>) -> Result<Vec<u8>> {
    let params = csv::params(input);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(&params)?, Arc::new(properties))?;
    for series in input.series {
        let of = TrialCells::new(series.trial, input, &params);
        let mut texts = Texts::default();
        let mut rows = Vec::new();
        csv::points(series, &mut |point| rows.push(ParquetRow::of(point, &mut texts)));
        for rows in rows.chunks(ROWS_MAX) {
            let mut group = GroupWriter { group: writer.next_row_group()?, rows: rows.len() };
            group.same(Some(&of.run_id))?;
            group.same_number(of.trial)?;
            group.same_number(of.case)?;
            group.same(of.side.as_deref())?;
            group.same_number(of.repeat)?;
            for text in &of.labelled {
                group.same(Some(text.as_str()).filter(|text| !text.is_empty()))?;
            }
            group.each::<ByteArrayType>(rows.iter().map(|row| Some(row.subject.clone())))?;
            group.each::<ByteArrayType>(rows.iter().map(|row| Some(row.series.clone())))?;
            group.each::<ByteArrayType>(rows.iter().map(|row| row.phase.clone()))?;
            group.each::<DoubleType>(rows.iter().map(|row| Some(row.at_s)))?;
            group.each::<DoubleType>(rows.iter().map(|row| row.value))?;
            group.each::<BoolType>(rows.iter().map(|row| Some(row.at_least)))?;
            group.group.close()?;
        }
    }
    writer.into_inner()
}

/// The columns in the order in which they are written; any may hold nulls.
fn schema(params: &[String]) -> Result<TypePtr> {
    let params: Vec<String> = params.iter().map(|name| format!("param.{name}")).collect();
    let columns =
        [text("run_id"), number("trial"), number("case"), text("side"), number("repeat"), text("label")]
            .into_iter()
            .chain(params.iter().map(String::as_str).map(text))
            .chain([text("subject"), text("series"), text("phase"), double("at_s"), double("value")])
            .chain([Type::primitive_type_builder("at_least", Physical::BOOLEAN)])
            .map(|column| Ok(Arc::new(column.with_repetition(Repetition::OPTIONAL).build()?)))
            .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("series").with_fields(columns).build()?))
}

fn text(name: &str) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
}

fn number(name: &str) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, Physical::INT32)
}

fn double(name: &str) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, Physical::DOUBLE)
}

/// Texts that come again and again, each held once.
#[derive(Default)]
struct Texts(BTreeMap<String, ByteArray>);

impl Texts {
    fn of(&mut self, text: &str) -> ByteArray {
        match self.0.get(text) {
            Some(known) => known.clone(),
            None => self.0.entry(text.to_owned()).or_insert_with(|| text.into()).clone(),
        }
    }
}

/// What differs between the rows of a trial.
struct ParquetRow {
    subject: ByteArray,
    series: ByteArray,
    phase: Option<ByteArray>,
    at_s: f64,
    value: Option<f64>,
    at_least: bool,
}

impl ParquetRow {
    fn of(point: CsvPoint<'_>, texts: &mut Texts) -> Self {
        let phase = (!point.phase.is_empty()).then(|| texts.of(point.phase));
        let (subject, series) = (texts.of(point.subject), texts.of(point.series));
        Self { subject, series, phase, at_s: point.at_s, value: point.value, at_least: point.at_least }
    }
}

/// A group of rows, whose columns are written one after the other.
struct GroupWriter<'w> {
    group: SerializedRowGroupWriter<'w, Vec<u8>>,
    rows: usize,
}

impl GroupWriter<'_> {
    /// A column with this text in each row.
    fn same(&mut self, text: Option<&str>) -> Result<()> {
        let text = text.map(ByteArray::from);
        let rows = self.rows;
        self.each::<ByteArrayType>((0..rows).map(|_| text.clone()))
    }

    /// A column with this number in each row.
    fn same_number(&mut self, number: Option<u32>) -> Result<()> {
        let number = number.and_then(|number| i32::try_from(number).ok());
        let rows = self.rows;
        self.each::<Int32Type>((0..rows).map(|_| number))
    }

    /// The next column.
    fn each<T: DataType>(&mut self, cells: impl Iterator<Item = Option<T::T>>) -> Result<()> {
        let mut levels = Vec::with_capacity(self.rows);
        let present = cells.inspect(|cell| levels.push(i16::from(cell.is_some())));
        let values: Vec<T::T> = present.flatten().collect();
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        column.typed::<T>().write_batch(&values, Some(&levels), None)?;
        column.close()
    }
}
