//! `--explain`: the page of a code.

use std::fmt::Write as _;

use anyhow::Result;
use tileops_analyzer::defect::{all_codes, find_code, nearest, nearest_first};

use crate::exit::Exit;
use crate::notes::Notes;
use crate::output;

/// Prints the page of `name`; `all` lists the codes. A code that does not exist gives the list too, nearest first.
pub(crate) fn run(name: &str, notes: &Notes) -> Result<Exit> {
    if name == "all" {
        let mut text = String::new();
        let mut last = "";
        for (group, code) in all_codes() {
            if group != last {
                let gap = if last.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{gap}{group}");
                last = group;
            }
            let _ = writeln!(text, "  {:<22} {:<9} {}", code.name, code.severity.name(), code.summary);
        }
        output::write(text.as_bytes(), None)?;
        return Ok(Exit::Clean);
    }
    if let Some(code) = find_code(name) {
        output::write(code.page().as_bytes(), None)?;
        return Ok(Exit::Clean);
    }
    let names = || all_codes().map(|(_, code)| code.name);
    notes.error(&match nearest(name, names()) {
        Some(close) => format!("there is no code `{name}`; did you mean `{close}`?"),
        None => format!("there is no code `{name}`"),
    });
    let mut text = String::from("the codes are:\n");
    for code in nearest_first(name, names()).into_iter().filter_map(find_code) {
        let _ = writeln!(text, "  {:<22} {}", code.name, code.summary);
    }
    notes.raw(&text);
    Ok(Exit::Failure)
}
