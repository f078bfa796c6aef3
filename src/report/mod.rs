//! Text, JSON, timeline, progress: knows results, decides nothing.
#![forbid(unsafe_code)]
