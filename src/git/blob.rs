//! The ids of file contents.
#![forbid(unsafe_code)]

use super::index::IndexEntry;

/// Whether `bytes` hash to the entry's id.
pub fn is_blob(entry: &IndexEntry<'_>, bytes: &[u8]) -> bool {
    blob_id(entry.hash_kind(), bytes).is_some_and(|id| id.as_bytes() == entry.id())
}

/// The id git gives a blob. `None` for content made to collide.
pub fn blob_id(kind: gix_hash::Kind, bytes: &[u8]) -> Option<gix_hash::ObjectId> {
    let mut hasher = gix_hash::hasher(kind);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.try_finalize().ok()
}
