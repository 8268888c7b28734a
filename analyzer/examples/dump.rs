//! Prints what is found in manifest files: `cargo run -p tileops-analyzer --example dump -- FILE...`. Files of one
//! folder are one manifest. `-u` prints what could not be judged too, `-e` the entries as they
//! were read, `-s` how much each file holds.

// An example is a program: it reads files, looks at the clock and prints.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::error::Error;
use std::sync::Arc;

use tileops_analyzer::defect::Place;
use tileops_analyzer::text::LineIndex;
use tileops_analyzer::workspace::{SourceFile, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    let mut unreached = false;
    let mut entries = false;
    let mut sizes = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "-u" => unreached = true,
            "-e" => entries = true,
            "-s" => sizes = true,
            path => {
                let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
                files.push(SourceFile { path: path.into(), text: text.into(), configured: true, judged: true });
            }
        }
    }
    let workspace = Workspace::new(files);
    let start = std::time::Instant::now();
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    let time = start.elapsed();

    let indices: Vec<LineIndex> = workspace.files().iter().map(|file| LineIndex::new(&file.text)).collect();
    let place = |file: usize, offset| match (workspace.files().get(file), indices.get(file)) {
        (Some(file), Some(index)) => {
            let at = index.line_column(&file.text, offset);
            format!("{}:{}:{}", file.path, at.line + 1, at.column + 1)
        }
        _ => "?".to_owned(),
    };
    let mut count = 0;
    for file in &report.files {
        let position = workspace.files().iter().position(|f| Arc::ptr_eq(&f.path, &file.path)).unwrap_or(usize::MAX);
        for located in &file.defects {
            count += 1;
            let defect = &located.defect;
            let entry = located.entry.as_deref().unwrap_or("-");
            let at = place(position, defect.range.start());
            println!("{at}: {} {entry} {}: {}", defect.code.name, defect.path, defect.message);
            let text = workspace
                .files()
                .get(position)
                .and_then(|f| f.text.get(usize::from(defect.range.start())..usize::from(defect.range.end())));
            println!("    at: {}", text.unwrap_or("").lines().next().unwrap_or(""));
            if let Some(help) = &defect.help {
                println!("    help: {help}");
            }
            for related in &defect.related {
                let at = match (&related.place, workspace.locate(position, &related.place)) {
                    (_, Some((file, range))) => place(file, range.start()),
                    (Place::Here(_) | Place::Adt(_) | Place::Op(..), None) => "?".to_owned(),
                };
                println!("    {at}: {}", related.message);
            }
        }
        for (entry, judgment) in file.unreached.iter().filter(|_| unreached) {
            let at = place(position, judgment.range.start());
            let entry = entry.as_deref().unwrap_or("-");
            println!("{at}: unreached {entry} {}: {} (no {})", judgment.path, judgment.judgment, judgment.missing);
        }
    }
    for analysis in report.analyses.iter().filter(|_| entries) {
        println!("{:#?}", analysis.entry);
    }
    for (position, file) in workspace.files().iter().enumerate().filter(|_| sizes) {
        let inside = || workspace.entries().iter().zip(&report.analyses).filter(|(e, _)| e.file == position);
        let rows: usize = inside().map(|(_, a)| a.entry.workloads.items().len()).sum();
        let calls: usize = inside().map(|(_, a)| a.calls.len()).sum();
        let points: usize = inside().map(|(_, a)| a.checked.points_checked()).sum();
        println!("{}: {} entries, {rows} rows, {calls} calls, {points} points", file.path, inside().count());
    }
    println!("{count} defects in {} entries, {time:?}", report.analyses.len());
    Ok(())
}
