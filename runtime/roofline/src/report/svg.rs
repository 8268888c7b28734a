//! The report's roofline plot as an SVG that stands on its own, for a README: no script, light or dark as its reader is.

use std::error::Error;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tileops_record::units::si;

use super::{Report, Row};
use crate::price::Verdict;
use crate::profile::Profile;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 560);

/// A colour by what it is for: in light, as it stands in the drawing, and in dark, where the style sheet puts it instead.
struct Ink {
    light: RGBColor,
    dark: &'static str,
}

const PAGE: Ink = Ink { light: RGBColor(0xff, 0xff, 0xff), dark: "#0f1216" };
const TEXT: Ink = Ink { light: RGBColor(0x16, 0x19, 0x1d), dark: "#e8ebef" };
const MUTED: Ink = Ink { light: RGBColor(0x59, 0x61, 0x6b), dark: "#9aa4b1" };
const LINE: Ink = Ink { light: RGBColor(0xe2, 0xe5, 0xea), dark: "#272d36" };
const ROOF: Ink = Ink { light: RGBColor(0x3b, 0x42, 0x4b), dark: "#c3cad4" };

/// What a point is, by the first of these that holds: its name, its colour and its mark.
struct Kind {
    name: &'static str,
    ink: Ink,
    mark: Mark,
    is: fn(&Row) -> bool,
}

#[derive(Clone, Copy)]
enum Mark {
    Circle,
    Triangle,
    Cross,
    Square,
    Diamond,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "formula error",
        ink: Ink { light: RGBColor(0xc8, 0x1e, 0x3a), dark: "#ff7186" },
        mark: Mark::Cross,
        is: |row| !row.priced.breaches.is_empty(),
    },
    Kind {
        name: "anomaly",
        ink: Ink { light: RGBColor(0xb4, 0x53, 0x09), dark: "#f5a742" },
        mark: Mark::Triangle,
        is: |row| row.priced.reading.as_ref().is_ok_and(|r| r.verdict == Verdict::Anomaly),
    },
    Kind {
        name: "latency-bound",
        ink: Ink { light: RGBColor(0x82, 0x50, 0xa8), dark: "#c69be8" },
        mark: Mark::Square,
        is: |row| row.priced.reading.as_ref().is_ok_and(|r| r.latency_bound),
    },
    Kind {
        name: "at ceiling",
        ink: Ink { light: RGBColor(0x00, 0x79, 0x5c), dark: "#34d3a4" },
        mark: Mark::Diamond,
        is: |row| row.priced.reading.as_ref().is_ok_and(|r| r.verdict == Verdict::AtCeiling),
    },
    Kind {
        name: "below the ceiling",
        ink: Ink { light: RGBColor(0x25, 0x63, 0xc9), dark: "#72a7ff" },
        mark: Mark::Circle,
        is: |_| true,
    },
];

/// A logarithmic axis with a line at each power of ten.
struct Decades(f64, f64);

impl Ranged for Decades {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.0) / (self.1 - self.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        (self.0.ceil() as i32..=self.1.floor() as i32).map(f64::from).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.0..self.1
    }
}

impl ValueFormatter<f64> for Decades {
    fn format_ext(&self, value: &f64) -> String {
        power(*value, "")
    }
}

/// `1k`, `100M`: a power of ten, shortly.
fn power(exponent: f64, unit: &str) -> String {
    let value = 10f64.powf(exponent);
    if value < 0.999 {
        return format!("{value}");
    }
    let text = si(value.round(), unit);
    match text.split_once(' ') {
        Some((number, unit)) => {
            let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
            format!("{whole} {unit}").trim_end().to_owned()
        }
        None => text,
    }
}

/// The plot. Fails where plotters does, which on a string it does not.
pub fn svg(report: &Report, profile: &Profile) -> Result<String, Box<dyn Error>> {
    let points: Vec<(&Row, f64, f64)> =
        report.rows.iter().filter_map(|row| Some((row, intensity(row)?, rate(row)?))).collect();
    let mut used: Vec<(String, f64)> = profile
        .peaks()
        .filter(|(key, _)| report.rows.iter().any(|row| row.roof_key.as_deref() == Some(key)))
        .map(|(key, ceiling)| (key, ceiling.effective))
        .collect();
    if used.is_empty() {
        used = profile.peaks().map(|(key, ceiling)| (key, ceiling.effective)).collect();
    }
    used.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bandwidth = profile.bandwidth().effective;
    let top = used.iter().map(|(_, peak)| peak.log10()).fold(bandwidth.log10(), f64::max);
    let ridge = used.iter().map(|(_, peak)| (peak / bandwidth).log10()).fold(0.0, f64::max);
    let span = |values: &mut dyn Iterator<Item = f64>, low: f64, high: f64| {
        values.fold((low, high), |(a, b), v| (a.min(v), b.max(v)))
    };
    let (x0, x1) = span(&mut points.iter().map(|p| p.1), -1.0, ridge + 0.5);
    let (y0, y1) = span(&mut points.iter().map(|p| p.2), bandwidth.log10() - 1.0, top);
    let (x, y) = (Decades((x0 - 0.2).floor(), x1 + 0.4), Decades((y0 - 0.2).floor(), y1 + 0.3));

    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&PAGE.light)?;
        root.draw(&Text::new(format!("Roofline of {}", profile.gpu), (24, 16), font(22, &TEXT)))?;
        root.draw(&Text::new(about(report), (24, 46), font(14, &MUTED)))?;
        let (low, high) = (x.0, x.1);
        let floor = y.0;
        let mut chart = ChartBuilder::on(&root)
            .margin_top(92)
            .margin_right(208)
            .margin_bottom(12)
            .x_label_area_size(52)
            .y_label_area_size(92)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(LINE.light)
            .axis_style(MUTED.light)
            .label_style(font(13, &MUTED))
            .axis_desc_style(font(14, &MUTED))
            .x_desc("Arithmetic intensity, FLOP/B")
            .x_label_formatter(&|v| power(*v, ""))
            .y_label_formatter(&|v| power(*v, "FLOP/s"))
            .draw()?;
        let roof = |peak: f64| {
            let corner = (peak / bandwidth).log10();
            let start = low.max(floor - bandwidth.log10());
            vec![(start, start + bandwidth.log10()), (corner, peak.log10()), (high, peak.log10())]
        };
        for (_, peak) in &used {
            chart.draw_series(LineSeries::new(roof(*peak), ROOF.light.stroke_width(2)))?;
        }
        // The commonest kind first, so that the ones that matter lie above it.
        for kind in KINDS.iter().rev() {
            let of_kind = points.iter().filter(|(row, ..)| is(row, kind));
            for (_, x, y) in of_kind {
                mark(&root, kind, chart.backend_coord(&(*x, *y)))?;
            }
        }
        let anchor = |h, v| Pos::new(h, v);
        let mut last = i32::MIN / 2;
        for (key, peak) in &used {
            // Roofs that lie close together are named below each other, in the margin, where no point is.
            let (x, y) = chart.backend_coord(&(high, peak.log10()));
            last = y.max(last + 17);
            let style = font(13, &TEXT).pos(anchor(HPos::Left, VPos::Center));
            root.draw(&Text::new(format!("{key} {}", si(*peak, "FLOP/s")), (x + 6, last), style))?;
        }
        let start = low.max(floor - bandwidth.log10()) + 0.25;
        let style = font(13, &TEXT).pos(anchor(HPos::Left, VPos::Top));
        let label = format!("memory {}", si(bandwidth, "B/s"));
        chart.draw_series(std::iter::once(Text::new(label, (start + 0.1, start + bandwidth.log10()), style)))?;

        let mut left = 24;
        for kind in &KINDS {
            let count = points.iter().filter(|(row, ..)| is(row, kind)).count();
            if count == 0 {
                continue;
            }
            let label = format!("{count} {}", kind.name);
            mark(&root, kind, (left + 6, 80))?;
            root.draw(&Text::new(
                label.clone(),
                (left + 18, 80),
                font(13, &TEXT).pos(anchor(HPos::Left, VPos::Center)),
            ))?;
            left += 18 + 8 * i32::try_from(label.len()).unwrap_or(0) + 14;
        }
        root.present()?;
    }
    let title = format!("Roofline plot of {}: {} rows", profile.gpu, points.len());
    Ok(styled(&text, &title))
}

/// What the rows come to, on one line.
fn about(report: &Report) -> String {
    let summary = &report.summary;
    let mut parts = vec![format!("{} rows", summary.rows)];
    parts.extend(summary.median_efficiency.map(|median| format!("median efficiency {:.1} %", median * 100.0)));
    if summary.with_peer > 0 {
        parts.push(format!("{} of {} behind a peer", summary.behind_a_peer, summary.with_peer));
    }
    parts.join(", ")
}

fn font(size: u32, ink: &Ink) -> TextStyle<'_> {
    TextStyle::from(("sans-serif", size).into_font()).color(&ink.light)
}

fn is(row: &Row, kind: &Kind) -> bool {
    KINDS.iter().find(|k| (k.is)(row)).is_some_and(|k| std::ptr::eq(k, kind))
}

fn intensity(row: &Row) -> Option<f64> {
    row.intensity().filter(|i| *i > 0.0).map(f64::log10)
}

fn rate(row: &Row) -> Option<f64> {
    let reading = row.priced.reading.as_ref().ok()?;
    let rate = row.flops? as f64 / reading.actual_ns * 1e9;
    (rate > 0.0).then(|| rate.log10())
}

/// Draws a row's mark around a pixel.
fn mark(root: &Area<'_>, kind: &Kind, (x, y): (i32, i32)) -> Result<(), Box<dyn Error>> {
    let colour = kind.ink.light;
    let filled = colour.mix(0.72).filled();
    match kind.mark {
        Mark::Circle => root.draw(&Circle::new((x, y), 4, filled))?,
        Mark::Square => root.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled))?,
        Mark::Triangle => root.draw(&Polygon::new(vec![(x, y - 6), (x + 6, y + 5), (x - 6, y + 5)], filled))?,
        Mark::Diamond => root.draw(&Polygon::new(vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)], filled))?,
        Mark::Cross => {
            for (dx, dy) in [(5, 5), (5, -5)] {
                root.draw(&PathElement::new(vec![(x - dx, y - dy), (x + dx, y + dy)], colour.stroke_width(3)))?;
            }
        }
    }
    Ok(())
}

/// The drawing with its title for those who do not see it, and with the colours that a dark page wants.
fn styled(svg: &str, title: &str) -> String {
    let inks = [&PAGE, &TEXT, &MUTED, &LINE, &ROOF].into_iter().chain(KINDS.iter().map(|k| &k.ink));
    let dark: String = inks
        .map(|ink| {
            let RGBColor(r, g, b) = ink.light;
            let light = format!("#{r:02X}{g:02X}{b:02X}");
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}", dark = ink.dark)
        })
        .collect();
    let head = format!(
        "<title>{}</title>\n<style>text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}}\n\
         @media (prefers-color-scheme:dark){{{dark}}}</style>",
        quick_xml::escape::escape(title)
    );
    let Some((open, rest)) = svg.split_once('>') else { return svg.to_owned() };
    format!("{open} role=\"img\">\n{head}{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_an_axis_are_short() {
        let label = |exponent: f64| power(exponent, "FLOP/s");
        assert_eq!(
            (label(12.0), label(10.0), label(3.0)),
            ("1 TFLOP/s".into(), "10 GFLOP/s".into(), "1 kFLOP/s".into())
        );
        assert_eq!((power(-1.0, ""), power(0.0, ""), power(4.0, "")), ("0.1".into(), "1".into(), "10 k".into()));
        assert_eq!((power(2.0, ""), label(14.0)), ("100".into(), "100 TFLOP/s".into()));
    }
}
