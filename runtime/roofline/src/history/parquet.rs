//! The history as one Parquet file: a line per record and night, flat columns, for DuckDB, Polars, Spark and the like.
//!
//! What was measured and what the record states stands in columns of its own and, word for word, in `record`. What follows
//! from it under a profile (`profile`, `efficiency`, …) stands beside it: another profile writes other values there, and
//! the same ones everywhere else.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{History, Point};
use crate::price::{Priced, price};
use crate::profile::Profile;
use tileops_record::Record;

/// How many lines a row group holds: what is kept in memory at a time, and what a reader skips at a time.
const GROUP: usize = 1 << 16;

/// A line of the table: a record, its night, and what it is worth.
struct Line<'a> {
    night: &'a str,
    started: Option<&'a str>,
    record: &'a Record,
    profile: Option<&'a str>,
    priced: Priced,
    point: Option<&'a Point>,
}

/// What a column holds, and where it is from.
enum Column {
    Text(fn(&Line<'_>) -> Option<String>),
    Number(fn(&Line<'_>) -> Option<f64>),
    Count(fn(&Line<'_>) -> Option<u128>),
    Flag(fn(&Line<'_>) -> Option<bool>),
}

macro_rules! timing {
    ($field:ident) => {
        |l| l.record.timing.as_ref()?.$field
    };
}

macro_rules! clock {
    ($field:ident) => {
        |l| l.record.timing.as_ref()?.clocks.as_ref()?.$field
    };
}

macro_rules! text {
    ($part:ident.$field:ident) => {
        |l| l.record.$part.as_ref()?.$field.as_ref().map(ToString::to_string)
    };
    ($field:ident) => {
        |l| l.record.$field.as_ref().map(ToString::to_string)
    };
}

macro_rules! reading {
    ($field:ident) => {
        |l| Some(l.priced.reading.as_ref().ok()?.$field)
    };
}

const COLUMNS: &[(&str, Column)] = &[
    ("night", Column::Text(|l| Some(l.night.to_owned()))),
    ("started", Column::Text(|l| l.started.map(str::to_owned))),
    ("op", Column::Text(|l| Some(l.record.op.to_string()))),
    ("case", Column::Text(|l| Some(l.record.case.to_string()))),
    ("family", Column::Text(text!(family))),
    ("dtype", Column::Text(text!(dtype))),
    ("peer", Column::Text(text!(peer))),
    ("flops", Column::Count(|l| l.record.flops)),
    ("bytes", Column::Count(|l| l.record.bytes)),
    ("read_bytes", Column::Count(|l| l.record.read_bytes)),
    ("roof_key", Column::Text(text!(roof_key))),
    ("entry_hash", Column::Text(text!(entry_hash))),
    ("source", Column::Text(|l| Some(l.record.timing.as_ref()?.source.to_string()))),
    ("actual_ns", Column::Number(|l| Some(l.record.timing.as_ref()?.actual_ns()))),
    ("device_busy_ns", Column::Number(|l| Some(l.record.timing.as_ref()?.device_busy_ns))),
    ("excluded_copies_ns", Column::Number(|l| Some(l.record.timing.as_ref()?.excluded_copies_ns))),
    ("p10_ns", Column::Number(timing!(p10_ns))),
    ("p90_ns", Column::Number(timing!(p90_ns))),
    ("median_low_ns", Column::Number(timing!(median_low_ns))),
    ("median_high_ns", Column::Number(timing!(median_high_ns))),
    ("samples", Column::Count(|l| l.record.timing.as_ref()?.samples.map(u128::from))),
    ("kernels", Column::Count(|l| l.record.timing.as_ref()?.kernels.map(u128::from))),
    ("l2_policy", Column::Text(|l| Some(l.record.timing.as_ref()?.policy.as_ref()?.l2.to_string()))),
    ("sm_mhz", Column::Number(clock!(sm_mhz))),
    ("memory_mhz", Column::Number(clock!(memory_mhz))),
    (
        "throttle",
        Column::Text(|l| {
            let throttle = &l.record.timing.as_ref()?.clocks.as_ref()?.throttle;
            Some(throttle.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(","))
        }),
    ),
    ("failure", Column::Text(|l| Some(l.record.failure.as_ref()?.kind.to_string()))),
    ("device", Column::Text(|l| Some(l.record.device.as_ref()?.name.to_string()))),
    ("driver", Column::Text(text!(device.driver))),
    ("cuda", Column::Text(text!(device.cuda))),
    ("tool", Column::Text(|l| Some(l.record.run.as_ref()?.tool.to_string()))),
    ("tool_version", Column::Text(text!(run.version))),
    ("revision", Column::Text(text!(run.revision))),
    ("profile", Column::Text(|l| l.profile.map(str::to_owned))),
    ("memory_ns", Column::Number(reading!(memory_ns))),
    ("compute_ns", Column::Number(reading!(compute_ns))),
    ("sol_ns", Column::Number(reading!(sol_ns))),
    ("efficiency", Column::Number(reading!(efficiency))),
    ("bound", Column::Text(|l| Some(l.priced.reading.as_ref().ok()?.bound.as_str().to_owned()))),
    ("latency_bound", Column::Flag(reading!(latency_bound))),
    ("fits_l2", Column::Flag(reading!(fits_l2))),
    ("verdict", Column::Text(|l| l.priced.reading.as_ref().ok()?.verdict.as_str().map(str::to_owned))),
    ("blank_reason", Column::Text(|l| l.priced.reading.as_ref().err().map(ToString::to_string))),
    (
        "formula_error",
        Column::Text(|l| {
            let all: Vec<String> = l.priced.breaches.iter().map(ToString::to_string).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }),
    ),
    ("change", Column::Text(|l| Some(l.point?.judged.as_ref()?.verdict.as_str().to_owned()))),
    ("change_ratio", Column::Number(|l| l.point?.judged.as_ref()?.ratio())),
    (
        "change_reasons",
        Column::Text(|l| {
            let judged = l.point?.judged.as_ref()?;
            Some(judged.reasons.iter().map(|r| r.code()).collect::<Vec<_>>().join(","))
        }),
    ),
    ("record", Column::Text(|l| serde_json::to_string(l.record).ok())),
];

/// Writes the history. Fails where `out` does.
pub fn write_parquet(history: &History, out: impl Write + Send) -> Result<()> {
    let fields = COLUMNS.iter().map(|(name, column)| field(name, column)).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("history").with_fields(fields).build()?;
    let about = KeyValue::new("tileops".to_owned(), format!("tileops-roofline {}", env!("CARGO_PKG_VERSION")));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_key_value_metadata(Some(vec![about]))
        .build();
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    // The point of each night and record: its judgment belongs to the night's last run of the row.
    let mut points: Vec<Vec<Option<&Point>>> = history.nights.iter().map(|n| vec![None; n.records.len()]).collect();
    for point in history.rows.iter().flat_map(|row| &row.points) {
        if let Some(&last) = point.records.last() {
            points[point.night][last] = Some(point);
        }
    }
    let ids: Vec<Option<String>> = history.nights.iter().map(|n| n.profile.as_ref().map(Profile::id)).collect();
    let lines = history.nights.iter().zip(&ids).zip(&points).flat_map(|((night, id), points)| {
        night.records.iter().zip(points).map(move |(record, point)| Line {
            night: &night.name,
            started: night.started.as_deref(),
            record,
            profile: id.as_deref(),
            priced: night.profile.as_ref().map_or_else(Priced::without_profile, |profile| price(record, profile)),
            point: *point,
        })
    });
    let mut group = Vec::with_capacity(GROUP);
    for line in lines {
        group.push(line);
        if group.len() == GROUP {
            write_group(&mut writer, &group)?;
            group.clear();
        }
    }
    if !group.is_empty() {
        write_group(&mut writer, &group)?;
    }
    writer.close()?;
    Ok(())
}

fn field(name: &str, column: &Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Number(_) => (Physical::DOUBLE, None),
        Column::Count(_) => (Physical::INT64, None),
        Column::Flag(_) => (Physical::BOOLEAN, None),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn write_group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, lines: &[Line<'_>]) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for (_, column) in COLUMNS {
        match column {
            Column::Text(of) => {
                write::<ByteArrayType, _>(&mut group, lines.iter().map(|l| Some(ByteArray::from(of(l)?.into_bytes()))))?
            }
            Column::Number(of) => write::<DoubleType, _>(&mut group, lines.iter().map(of))?,
            // A count beyond 63 bits stays in `record` alone.
            Column::Count(of) => write::<Int64Type, _>(&mut group, lines.iter().map(|l| i64::try_from(of(l)?).ok()))?,
            Column::Flag(of) => write::<BoolType, _>(&mut group, lines.iter().map(of))?,
        }
    }
    group.close()?;
    Ok(())
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let mut levels = Vec::new();
    let mut present = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}
