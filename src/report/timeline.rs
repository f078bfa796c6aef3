//! What `explain` shows of one entry: its header, its times, and a timeline on which one sees why
//! it is judged as it is.

use std::fmt::Write;

use data_encoding::HEXLOWER;
use time::OffsetDateTime;

use super::style::{Terminal, printable};
use crate::bytecode::{
    Dialect, Header, Layout, Span, State, Timeline, Validation, Verdict, float_seconds,
};
use crate::fsys::{Stat, Time};

/// One entry of one source, with all that the verdict rests on.
pub struct Explained {
    /// The entry's path, as printed elsewhere.
    pub entry: Vec<u8>,
    /// The source's path, and its stat with symlinks followed.
    pub source: Option<(Vec<u8>, Stat)>,
    /// The entry's own stat.
    pub stat: Stat,
    /// The first bytes of the entry.
    pub head: Vec<u8>,
    /// How its interpreter reads it, if it is known.
    pub dialect: Option<Dialect>,
    /// The times that the rule compares, where there is a source.
    pub times: Option<Timeline>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is never removed, where that is so.
    pub untouchable: Option<&'static str>,
}

/// A point in time for people: date and time in UTC, to the nanosecond.
pub fn date(time: Time) -> String {
    match OffsetDateTime::from_unix_timestamp(time.sec) {
        Ok(moment) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second(),
            time.nsec
        ),
        Err(_) => format!("{}.{:09} s", time.sec, time.nsec),
    }
}

fn whole_date(seconds: i64) -> String {
    let text = date(Time {
        sec: seconds,
        nsec: 0,
    });
    text.strip_suffix(".000000000")
        .map_or(text.clone(), str::to_owned)
}

/// The whole explanation, as lines of text.
pub fn explain(explained: &Explained, terminal: Terminal) -> String {
    let mut text = String::new();
    let state = explained.verdict.state;
    let word = terminal.paint(terminal.state(state), state.word());
    let _ = writeln!(text, "{}: {word}", printable(&explained.entry));
    let _ = writeln!(text, "  {}", explained.verdict.reason);
    if let Some(why) = explained.untouchable {
        let _ = writeln!(text, "  untouchable: {why}");
    }
    text.push('\n');
    header(&mut text, explained);
    text.push('\n');
    times(&mut text, explained);
    if let Some(timeline) = &explained.times {
        text.push('\n');
        draw(&mut text, timeline, state, terminal);
    }
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<13} {value}");
}

fn header(text: &mut String, explained: &Explained) {
    let layout = explained.dialect.map(|dialect| dialect.layout);
    let header = layout.and_then(|layout| Header::decode(&explained.head, layout));
    let (Some(layout), Some(header)) = (layout, header) else {
        let what = if explained.head.is_empty() {
            "empty, or no file".to_owned()
        } else if layout.is_some() {
            format!("{} bytes: too short for a header", explained.head.len())
        } else {
            "of no interpreter that is known: judged by times alone".to_owned()
        };
        line(text, "header", &what);
        return;
    };
    let magic = u16::from_le_bytes([header.magic[0], header.magic[1]]);
    let known = explained.dialect.and_then(|dialect| dialect.magic);
    let note = match known {
        Some(known) if known == magic => " (the release's)".to_owned(),
        Some(known) => {
            format!(" (the release's is {known}: a pre-release or a patched interpreter wrote it)")
        }
        None => String::new(),
    };
    line(text, "magic", &format!("{magic}{note}"));
    if layout == Layout::Flags {
        let meaning = match header.flags {
            0 | 2 => "checked by mtime and size",
            1 => "unchecked hash: loaded whatever the source is",
            3 => "checked by hash",
            _ => "not known to any interpreter",
        };
        line(text, "flags", &format!("{} ({meaning})", header.flags));
    }
    match header.validation {
        Validation::Stamp { mtime, size } => {
            let source = explained.source.as_ref().map(|(_, stat)| stat);
            let same = |equal: bool| {
                if equal {
                    " = its source's"
                } else {
                    " (its source's differs)"
                }
            };
            let note = source.map_or("", |stat| {
                let seconds = if explained.dialect.is_some_and(|dialect| dialect.float_mtime) {
                    float_seconds(stat.mtime)
                } else {
                    stat.mtime.sec
                };
                same(seconds as u32 == mtime)
            });
            line(
                text,
                "source mtime",
                &format!("{mtime} = {}{note}", whole_date(i64::from(mtime))),
            );
            if let Some(size) = size {
                let note = source.map_or("", |stat| same(stat.size as u32 == size));
                line(text, "source size", &format!("{size} bytes{note}"));
            }
        }
        Validation::Hash { hash, .. } => {
            line(text, "source hash", &HEXLOWER.encode(&hash));
        }
    }
}

fn times(text: &mut String, explained: &Explained) {
    if let Some((path, stat)) = &explained.source {
        line(
            text,
            "source",
            &format!("{} ({} bytes)", printable(path), stat.size),
        );
        line(text, "  mtime", &date(stat.mtime));
        line(text, "  ctime", &date(stat.ctime));
    } else {
        line(text, "source", "gone");
    }
    line(text, "entry", &format!("{} bytes", explained.stat.size));
    line(text, "  mtime", &date(explained.stat.mtime));
    line(text, "  ctime", &date(explained.stat.ctime));
    if let Some(born) = explained.stat.born {
        line(text, "  born", &date(born));
    }
}

/// The timeline, top to bottom. Of the dates only the time of day is shown.
fn draw(text: &mut String, timeline: &Timeline, state: State, terminal: Terminal) {
    let nanos = timeline.touched.as_nanos() + timeline.margin;
    let margin_ends = Time {
        sec: nanos.div_euclid(1_000_000_000) as i64,
        nsec: nanos.rem_euclid(1_000_000_000) as u32,
    };
    let mut points = [
        (timeline.touched, "●", "source last touched"),
        (
            margin_ends,
            "┄",
            "compiling what was there before has ended",
        ),
        (timeline.written, "■", "entry written"),
    ];
    points.sort_by_key(|(time, _, _)| *time);
    let mut before: Option<Time> = None;
    for (time, mark, what) in points {
        if let Some(before) = before {
            let span = Span(time.as_nanos() - before.as_nanos());
            let _ = writeln!(text, "  {:>12}  │  {span}", "");
        }
        before = Some(time);
        let clock = date(time);
        let clock = clock.get(11..23).unwrap_or("");
        let painted = if mark == "■" {
            terminal.paint(terminal.state(state), mark)
        } else {
            mark.to_owned()
        };
        let verdict = match (mark, state) {
            ("■", State::Settled) if timeline.settles() => ": later than that, so it is settled",
            ("■", State::Racy) if timeline.after() >= 0 => ": too soon to be sure",
            ("■", State::Racy) => ": before the source was touched",
            _ => "",
        };
        let _ = writeln!(text, "  {clock:>12}  {painted}  {what}{verdict}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        assert_eq!(
            date(Time { sec: 0, nsec: 7 }),
            "1970-01-01 00:00:00.000000007"
        );
        assert_eq!(
            date(Time { sec: -1, nsec: 0 }),
            "1969-12-31 23:59:59.000000000"
        );
        assert_eq!(whole_date(951_782_400), "2000-02-29 00:00:00");
        assert!(
            date(Time {
                sec: i64::MAX,
                nsec: 0
            })
            .ends_with(" s")
        );
    }

    #[test]
    fn the_timeline_is_in_order() {
        let at = |sec, nsec| Time { sec, nsec };
        let terminal = Terminal {
            color: false,
            width: 80,
            is_terminal: false,
            links: false,
        };
        let mut text = String::new();
        let timeline = Timeline {
            touched: at(100, 0),
            written: at(100, 210_000_000),
            margin: 2_000_000_000,
        };
        draw(&mut text, &timeline, State::Racy, terminal);
        let expected = "  00:01:40.000  ●  source last touched\n                │  0.21 s\n  00:01:40.210  ■  entry written: too soon to be sure\n                │  1.79 s\n  00:01:42.000  ┄  compiling what was there before has ended\n";
        assert_eq!(text, expected);
    }
}
