//! The report for programs: one JSON object, described by `docs/report.schema.json`.

use bstr::{BString, ByteSlice};
use data_encoding::{BASE64, HEXLOWER};
use serde::Serialize;

use super::path_of;
use crate::bytecode::State;
use crate::payload::Payload;
use crate::scan::{Action, Counts, Scan, Untouchable};

/// The whole report. Every key is always there; `null` or empty where it does not apply.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    command: &'static str,
    root: String,
    payload: Option<PayloadPart>,
    entries: Vec<EntryPart>,
    ghosts: Vec<String>,
    counts: Counts,
    /// The sweep, once it has run.
    pub sweep: Option<SweepPart>,
    /// PASS, BLOCK or INCONCLUSIVE; `null` where nothing is certified.
    pub verdict: Option<&'static str>,
    /// Why the verdict is INCONCLUSIVE.
    pub reasons: Vec<String>,
    /// What is worth knowing and decides nothing.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PayloadPart {
    base: Option<String>,
    digest: String,
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources_b64: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct EntryPart {
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_b64: Option<String>,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    tag: String,
    state: State,
    untouchable: Option<&'static str>,
    reason: String,
    action: &'static str,
}

/// What the report says of the sweep.
#[derive(Debug, Serialize)]
pub struct SweepPart {
    /// The command's words.
    pub argv: Vec<String>,
    /// Its exit status; 128+n where a signal ended it.
    pub exit: u8,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A name as text, and its bytes beside it where it is not UTF-8.
fn name(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (
            bytes.to_str_lossy().into_owned(),
            Some(BASE64.encode(bytes)),
        ),
    }
}

fn payload_part(payload: &Payload) -> PayloadPart {
    let names: Vec<&BString> = payload.sources.keys().collect();
    let whole = names.iter().all(|path| path.to_str().is_ok());
    PayloadPart {
        base: payload.base.clone(),
        digest: HEXLOWER.encode(&payload.digest()),
        sources: names
            .iter()
            .map(|path| path.to_str_lossy().into_owned())
            .collect(),
        sources_b64: (!whole).then(|| {
            names
                .iter()
                .map(|path| BASE64.encode(path.as_slice()))
                .collect()
        }),
    }
}

impl Report {
    /// The report of a scan. `with_payload`: whether the command has one.
    pub fn new(command: &'static str, scan: &Scan, with_payload: bool) -> Self {
        let entries = scan
            .entries
            .iter()
            .map(|entry| {
                let (path, path_b64) = name(&path_of(scan, entry));
                let (source, source_b64) = match entry.source.as_ref().map(|source| name(source)) {
                    Some((source, bytes)) => (Some(source), bytes),
                    None => (None, None),
                };
                EntryPart {
                    source,
                    source_b64,
                    path,
                    path_b64,
                    tag: entry.tag.to_str_lossy().into_owned(),
                    state: entry.state,
                    untouchable: entry.untouchable.map(|why| match why {
                        Untouchable::Tracked => "tracked",
                        Untouchable::Symlinked => "symlinked",
                        Untouchable::Unknown => "unknown",
                    }),
                    reason: entry.reason.to_string(),
                    action: match entry.action {
                        Action::Kept => "kept",
                        Action::Purged => "purged",
                        Action::WouldPurge => "would-purge",
                        Action::Failed(_) => "failed",
                    },
                }
            })
            .collect();
        Self {
            schema: 1,
            command,
            root: scan
                .trees
                .first()
                .map(|tree| tree.root.display().to_string())
                .unwrap_or_default(),
            payload: with_payload.then(|| payload_part(&scan.payload)),
            entries,
            ghosts: scan
                .ghosts
                .iter()
                .map(|ghost| ghost.to_str_lossy().into_owned())
                .collect(),
            counts: scan.counts,
            sweep: None,
            verdict: None,
            reasons: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The report as one line.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }

    /// The report as text, ending with a newline.
    pub fn text(&self) -> String {
        // A struct of strings and numbers always serializes.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
