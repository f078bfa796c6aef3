//! Interpreters: asking them what they know best.

pub mod prove;
