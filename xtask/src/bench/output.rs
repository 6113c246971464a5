//! In what form do other programs read the results?

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::row::{Row, Series};

/// Writes a list with one object per row.
pub(super) fn write(file: &Path, area: &str, rows: &[Row]) -> Result<()> {
    let rows: Vec<Value> = rows.iter().map(|row| object(area, row)).collect();
    let mut text = serde_json::to_string_pretty(&rows)?;
    text.push('\n');
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

fn object(area: &str, row: &Row) -> Value {
    let each_of = |others: &BTreeMap<String, Series>, of: fn(&Series) -> Value| -> Value {
        others.iter().map(|(name, series)| (name.clone(), of(series))).collect::<Map<_, _>>().into()
    };
    let each = |of| each_of(&row.peers, of);
    json!({
        "area": area,
        "workload": row.name,
        "unit": row.unit,
        "ours": row.ours.value().map(rounded),
        "peers": if row.peers.is_empty() { Value::Null } else { each(value) },
        "best_peer": row.best_peer().map(|(name, _)| name),
        "ratio": row.ratio().map(rounded),
        "floor": row.floor.map(rounded),
        "information": each_of(&row.information, value),
        "target": {
            "max": row.target.max,
            "min": row.target.min,
            "ratio": row.target.ratio,
            "against": row.target.against,
            "of_floor": row.target.of_floor,
            "beside": row.target.beside.map(|(name, max)| json!({ "name": name, "max": max })),
        },
        "met": row.met(),
        "spread": rounded(row.ours.spread()),
        "allocator": row.allocator.to_string(),
        "workers": row.workers,
        "beside": beside(&row.ours),
        "peers_beside": each(beside),
        "peers_spread": each(|series| rounded(series.spread())),
        "peers_failed": row
            .peers
            .iter()
            .filter_map(|(name, series)| Some((name.clone(), series.failure()?.into())))
            .collect::<Map<_, _>>(),
    })
}

/// Null for one that failed.
fn value(series: &Series) -> Value {
    series.value().map_or(Value::Null, rounded)
}

fn beside(series: &Series) -> Value {
    let numbers =
        series.beside().into_iter().map(|(name, value)| (name.to_owned(), rounded(value)));
    numbers.collect::<Map<_, _>>().into()
}

/// Digits beyond these would only look exact.
fn rounded(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}
