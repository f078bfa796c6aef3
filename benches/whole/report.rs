//! `docs/benchmarks.md` and its plot.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use plotters::prelude::*;

use crate::rows::{Row, versions};

/// Writes the page and the plot into `docs`.
pub fn write(rows: &[Row], docs: &Path) -> Result<()> {
    let page = docs.join("benchmarks.md");
    std::fs::write(&page, markdown(rows))
        .with_context(|| format!("cannot write {}", page.display()))?;
    plot(rows, &docs.join("img/benchmarks.svg"))
}

/// The page.
pub fn markdown(rows: &[Row]) -> String {
    let mut page = String::from(
        "# Benchmarks\n\nMade by `cargo bench --bench whole`, which makes the trees, runs pycgate beside other programs and \
         writes this page.\nEvery time is the median of rounds in which each command ran once; the ratio is the median of the \
         rounds' ratios of\npycgate's time to that of the second line of its table. Times of different tables are of different \
         moments and not to\nbe compared.\n\n",
    );
    let _ = writeln!(
        page,
        "Measured: {}.\n\n![Ratios](img/benchmarks.svg)\n",
        versions().join(", ")
    );
    for row in rows {
        let _ = writeln!(
            page,
            "## {}\n\n| command | wall, ms | CPU, ms |\n| --- | ---: | ---: |",
            row.title
        );
        for timing in &row.timings {
            let _ = writeln!(
                page,
                "| {} | {:.1} | {:.1} |",
                timing.name,
                timing.wall() * 1e3,
                timing.cpu() * 1e3
            );
        }
        page.push('\n');
        if let Some((wall, cpu)) = row.ratio() {
            let limit = |limit: Option<f64>| {
                limit.map_or(String::new(), |limit| format!(" (limit {limit})"))
            };
            let _ = writeln!(
                page,
                "Ratio: wall **{wall:.2}**{}, CPU {cpu:.2}{}.{}",
                limit(row.wall_limit),
                limit(row.cpu_limit),
                if row.missed() {
                    " **Above its limit.**"
                } else {
                    ""
                }
            );
        }
        for figure in &row.figures {
            let limit = figure
                .limit
                .map_or(String::new(), |limit| format!(" (limit {limit})"));
            let unit = match figure.unit {
                "" => String::new(),
                unit => format!(" {unit}"),
            };
            let _ = writeln!(page, "- {}: {:.2}{unit}{limit}", figure.what, figure.value);
        }
        page.push('\n');
    }
    page
}

fn plot(rows: &[Row], path: &Path) -> Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let bars: Vec<(&str, f64, Option<f64>)> = rows
        .iter()
        .filter_map(|row| Some((row.title.as_str(), row.ratio()?.0, row.wall_limit)))
        .collect();
    let height = 60 + 44 * bars.len() as u32;
    let widest = bars
        .iter()
        .map(|(_, ratio, limit)| ratio.max(limit.unwrap_or(0.0)))
        .fold(1.0, f64::max)
        * 1.1;
    let area = SVGBackend::new(path, (900, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let scale = |value: f64| 20 + (value / widest * 860.0) as i32;
    area.draw(&Text::new(
        "wall time of pycgate by that of the program beside it; the mark is the limit",
        (20, 16),
        ("sans-serif", 14),
    ))?;
    for (line, (title, ratio, limit)) in bars.iter().enumerate() {
        let top = 48 + 44 * line as i32;
        area.draw(&Text::new(
            format!("{}: {ratio:.2}", title.replace('`', "")),
            (20, top),
            ("sans-serif", 13),
        ))?;
        area.draw(&Rectangle::new(
            [(20, top + 16), (scale(*ratio), top + 30)],
            RGBColor(70, 120, 180).filled(),
        ))?;
        if let Some(limit) = limit {
            let mark = scale(*limit);
            area.draw(&PathElement::new(
                [(mark, top + 12), (mark, top + 34)],
                RGBColor(200, 60, 40).stroke_width(2),
            ))?;
        }
    }
    area.present()?;
    Ok(())
}
