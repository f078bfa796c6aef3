//! Configuration files: parsed or refused with a message, never a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pycgate::config::Config;
use pycgate::exclude::Exclude;

fuzz_target!(|text: &str| {
    for name in ["pycgate.toml", "pyproject.toml"] {
        if let Err(error) = Config::parse(Path::new(name), text) {
            assert!(!error.to_string().is_empty());
        }
    }
    if let Ok(exclude) = Exclude::new(&[text]) {
        let _ = exclude.path(text.into());
    }
});
