//! `docs/new-op.md`: what the newcomer's guide shows is what a newcomer gets.

use crate::goldens::{goldens, stated};
use crate::manifest::of;
use crate::python::{case, run};

const FILE: &str = "manifest/elementwise_shrink.yaml";

/// The fenced blocks of `text` in `language`, in their order.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_newcomers_guide_shows_what_a_newcomer_gets() {
    let text = std::fs::read_to_string(tileops_tests::root().join("docs/new-op.md")).expect("the guide can be read");
    let (entries, shown) = (blocks(&text, "yaml"), blocks(&text, "text"));
    let [first, mended] = entries[..] else { panic!("the guide has two tries") };

    let mut report = String::new();
    // What could not be judged for want of a fact is reported on request.
    for found in tileops_tests::judge([(FILE, first)]).into_iter().filter(|found| !found.code.is_empty()) {
        let (line, column) = (found.line + 1, found.columns.0 + 1);
        report += &format!("{}:{line}:{column}: error[{}]: {}\n", found.file, found.code, found.message);
    }
    assert_eq!(report, shown[0]);
    assert_eq!(tileops_tests::judge([(FILE, mended)]), []);

    let manifest = of(vec![(FILE.to_owned(), mended.to_owned())]);
    let rows: Vec<_> = manifest.rows().collect();
    let prices = run(&manifest, rows.iter().map(|row| case(&manifest, row)).collect());
    for (row, price) in rows.iter().zip(&prices) {
        let traffic = row.call.bytes().expect("its bytes are derived");
        let price = price.as_ref().expect("it has a price");
        assert_eq!(u128::try_from(price.1), Ok(traffic.total), "{}", row.id());
        let line = shown[1].lines().find(|line| line.trim_start().starts_with(&row.call.case_id));
        let numbers: Vec<u128> = line
            .into_iter()
            .flat_map(|line| line.split_whitespace().rev().take(2))
            .filter_map(|number| number.replace('_', "").parse().ok())
            .collect();
        assert_eq!(numbers, [traffic.write, traffic.read], "{}", row.id());
    }
    let (flops, bytes) = prices[0].clone().expect("it has a price");
    assert!(text.contains(&format!(">>> op.eval_roofline()\n({flops}, {bytes})\n")));
    let mut table = goldens(&text);
    let (row, flops, bytes) = table.next().expect("the guide has a golden row");
    let at = rows.iter().position(|found| found.id() == row).expect("it is a row of the entry");
    assert_eq!(prices[at], Ok((stated(flops), stated(bytes))));
}
