//! `tests/goldens.md`: values computed by hand.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::OURS;
use crate::python::PRICES;
use crate::rust::for_each_row;

/// The rows of the tables of prices: the row's id, and the cells with FLOPs and bytes.
pub(crate) fn goldens(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    tables(text)
        .filter_map(|(row, cells)| if let [flops, bytes] = cells[..] { Some((row, flops, bytes)) } else { None })
}

/// The rows of the table of read halves: the row's id, and the cell.
fn read_halves(text: &str) -> impl Iterator<Item = (&str, &str)> {
    tables(text).filter_map(|(row, cells)| if let [read] = cells[..] { Some((row, read)) } else { None })
}

/// The rows of the tables: the row's id, and the cells behind it.
fn tables(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    text.lines().filter_map(|line| line.strip_prefix("| `")).map(|line| {
        let (row, cells) = line.split_once("` |").unwrap_or_else(|| panic!("a row begins with its id: {line}"));
        let cells: Vec<&str> = cells.trim_end_matches('|').split('|').map(str::trim).collect();
        assert!((1..=2).contains(&cells.len()), "a row has FLOPs and bytes, or what is read: {line}");
        (row, cells)
    })
}

fn text() -> String {
    std::fs::read_to_string(tileops_tests::root().join("tests/goldens.md")).expect("the golden values can be read")
}

/// The result that a cell states, behind the last `=`.
pub(crate) fn stated(cell: &str) -> i128 {
    let number = cell.rsplit('=').next().unwrap_or_default().replace([' ', ','], "");
    number.parse().unwrap_or_else(|_| panic!("`{cell}` ends in no number"))
}

#[test]
fn rows_cost_what_was_computed_by_hand() {
    let text = text();
    let mut wrong = Vec::new();
    let mut families = BTreeSet::new();
    let mut count = 0;
    for (row, flops, bytes) in goldens(&text) {
        let price = PRICES.get(row).unwrap_or_else(|| panic!("the manifest has no row `{row}`"));
        if *price != (stated(flops), stated(bytes)) {
            wrong.push(format!("{row}: {price:?}, by hand {flops} and {bytes}"));
        }
        let op = row.split(' ').next().unwrap_or_default();
        let entry = OURS.report.analyses.iter().map(|a| &a.entry).find(|entry| &*entry.name.value == op);
        families.extend(entry.and_then(|entry| entry.family.valid()).map(|family| family.value.to_string()));
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40, "there are {count}");
    let all: BTreeSet<String> =
        OURS.report.analyses.iter().filter_map(|a| a.entry.family.valid()).map(|f| f.value.to_string()).collect();
    assert_eq!(families, all, "each family has golden rows");
}

#[test]
fn rows_read_what_was_computed_by_hand() {
    let text = text();
    let mut by_hand = BTreeMap::new();
    for (row, read) in read_halves(&text) {
        assert!(by_hand.insert(row, read).is_none(), "`{row}` stands twice");
    }
    assert!(by_hand.len() >= 12, "there are {}", by_hand.len());
    for_each_row(|id, _, _, op| {
        let Some(read) = by_hand.remove(id) else { return };
        let found = op.and_then(|op| op.eval_roofline_read_bytes().transpose());
        assert_eq!(found, Ok(u128::try_from(stated(read)).ok()), "{id}: by hand {read}");
    });
    assert!(by_hand.is_empty(), "the manifest has no row of these: {by_hand:?}");
}

#[test]
fn the_arithmetic_gives_the_results() {
    let text = text();
    for (row, cells) in tables(&text) {
        for cell in cells {
            let Some((arithmetic, _)) = cell.rsplit_once('=') else { continue };
            assert_eq!(evaluated(arithmetic), stated(cell), "{row}: {cell}");
        }
    }
}

/// Sums, differences and products of integers, with parentheses.
fn evaluated(text: &str) -> i128 {
    let spaced = ["(", ")", "*", "+", "-"].iter().fold(text.to_owned(), |text, c| text.replace(c, &format!(" {c} ")));
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let result = sum(&tokens, &mut at);
    assert_eq!(at, tokens.len(), "`{text}` is no arithmetic");
    result
}

fn sum(tokens: &[&str], at: &mut usize) -> i128 {
    let mut result = product(tokens, at);
    while let Some(&sign @ ("+" | "-")) = tokens.get(*at) {
        *at += 1;
        let term = product(tokens, at);
        result += if sign == "+" { term } else { -term };
    }
    result
}

fn product(tokens: &[&str], at: &mut usize) -> i128 {
    let mut result = factor(tokens, at);
    while tokens.get(*at) == Some(&"*") {
        *at += 1;
        result *= factor(tokens, at);
    }
    result
}

fn factor(tokens: &[&str], at: &mut usize) -> i128 {
    let token = tokens.get(*at).copied().unwrap_or_default();
    *at += 1;
    if token != "(" {
        return token.replace(',', "").parse().unwrap_or_else(|_| panic!("`{token}` is no number"));
    }
    let result = sum(tokens, at);
    assert_eq!(tokens.get(*at), Some(&")"), "a parenthesis is not closed");
    *at += 1;
    result
}
