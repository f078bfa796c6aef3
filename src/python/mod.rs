//! Python: what a command line means to it, and interpreters, asked what they know best.

pub mod command_line;
pub mod interpreters;
pub mod prove;
pub mod pytest;
