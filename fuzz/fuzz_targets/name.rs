//! Names: what parses is put together again to the same name, and belongs to its own source.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pycgate::bytecode::{Kind, Listing, parse_beside, parse_in_pycache};

fuzz_target!(|name: &[u8]| {
    if let Some(parsed) = parse_in_pycache(name) {
        assert!(name.windows(parsed.tag.len()).any(|part| part == parsed.tag));
        assert!(name.windows(parsed.stem.len().max(1)).any(|part| part == parsed.stem));
        if parsed.kind != Kind::Companion {
            assert!(parsed.belongs_to(&parsed.likely_source()));
        }
        let _ = parsed.sources(&Listing::new(vec![name, b"mod.py", parsed.stem]));
        let _ = parsed.by_tool();
    }
    if let Some(parsed) = parse_beside(name) {
        assert!(parsed.belongs_to(&[parsed.stem, b".py"].concat()));
    }
});
