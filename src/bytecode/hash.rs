//! The source hash of PEP 552.

use std::hash::Hasher;

use siphasher::sip::{SipHasher13, SipHasher24};

use super::dialect::Sip;

/// The hash an interpreter writes into a hash-based entry: SipHash of the source's bytes, keyed
/// with the four magic bytes as a little-endian number (`_imp.source_hash`).
pub fn source_hash(sip: Sip, magic: [u8; 4], source: &[u8]) -> [u8; 8] {
    let key = u64::from(u32::from_le_bytes(magic));
    match sip {
        Sip::OneThree => finish(SipHasher13::new_with_keys(key, 0), source),
        Sip::TwoFour => finish(SipHasher24::new_with_keys(key, 0), source),
    }
}

fn finish(mut hasher: impl Hasher, source: &[u8]) -> [u8; 8] {
    hasher.write(source);
    hasher.finish().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// Vectors of real interpreters for the source `V=1\n` (`importlib.util.source_hash`).
    #[test]
    fn agrees_with_interpreters() {
        let cases = [
            (3394, Sip::TwoFour, "79c8f502b2f75300"),
            (3413, Sip::TwoFour, "ea2c1a42cf311465"),
            (3425, Sip::TwoFour, "94a947a72fed57cf"),
            (3439, Sip::TwoFour, "cdd8b095af09a871"),
            (3495, Sip::OneThree, "0b1b30223eb18061"),
            (3531, Sip::OneThree, "8f0a303c9ebfe93f"),
            (3571, Sip::OneThree, "1d53fadb54b7a107"),
            (336, Sip::TwoFour, "122a6b20a94caca1"),
        ];
        for (magic, sip, expected) in cases {
            let [low, high] = u16::to_le_bytes(magic);
            assert_eq!(
                HEXLOWER.encode(&source_hash(sip, [low, high, b'\r', b'\n'], b"V=1\n")),
                expected,
                "{magic}"
            );
        }
    }
}
