//! The answers of the `git` command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pycgate::git::{is_python, parse_name_status, safe};

fuzz_target!(|answer: &[u8]| {
    if let Ok(changes) = parse_name_status(answer) {
        for change in changes {
            assert!(is_python(&change.path));
            let _ = safe(&change.path);
        }
    }
});
