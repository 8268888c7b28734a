//! The report as JUnit XML: a test case a row, failed where a rate is impossible, skipped where there is no reading.

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};

use super::Report;
use crate::profile::Profile;

/// The report as JUnit XML.
pub fn junit(report: &Report, profile: &Profile) -> std::io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let blank = report.rows.iter().filter(|row| row.priced.reading.is_err() && row.priced.breaches.is_empty()).count();
    writer.write_event(Event::Decl(quick_xml::events::BytesDecl::new("1.0", Some("utf-8"), None)))?;
    writer.create_element("testsuites").write_inner_content(|writer| {
        writer
            .create_element("testsuite")
            .with_attributes([
                ("name", format!("roofline on {}", profile.gpu).as_str()),
                ("tests", report.summary.rows.to_string().as_str()),
                ("failures", report.summary.formula_errors.to_string().as_str()),
                ("skipped", blank.to_string().as_str()),
            ])
            .write_inner_content(|writer| {
                for row in &report.rows {
                    let seconds = row.priced.reading.as_ref().map_or(0.0, |r| r.actual_ns / 1e9);
                    writer
                        .create_element("testcase")
                        .with_attributes([
                            ("classname", row.op.as_str()),
                            ("name", row.case.as_str()),
                            ("time", format!("{seconds:.9}").as_str()),
                        ])
                        .write_inner_content(|writer| {
                            for breach in &row.priced.breaches {
                                writer
                                    .create_element("failure")
                                    .with_attribute(("message", "formula error"))
                                    .write_text_content(BytesText::new(&breach.to_string()))?;
                            }
                            if let (Err(reason), true) = (&row.priced.reading, row.priced.breaches.is_empty()) {
                                writer
                                    .create_element("skipped")
                                    .with_attribute(("message", reason.to_string().as_str()))
                                    .write_empty()?;
                            }
                            Ok(())
                        })?;
                }
                Ok(())
            })?;
        Ok(())
    })?;
    Ok(String::from_utf8_lossy(&writer.into_inner()).into_owned())
}
