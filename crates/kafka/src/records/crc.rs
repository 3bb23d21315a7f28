//! CRC-32C of two joined byte strings from the checksums of each.
//!
//! A CRC is a remainder of polynomials modulo P. Appending n bytes to a string multiplies its polynomial by
//! x^(8n), so `crc(a‖b) = x^(8·|b|) · crc(a) + crc(b)  (mod P)`, where `+` is exclusive or. (The initial and
//! final inversions of CRC-32C cancel in this sum.) The factor depends on the length of b only: code that joins
//! strings of the same lengths again and again computes it once. One multiplication is 32 steps of shift and
//! exclusive or, far less than a pass over the bytes.
//! Polynomials are stored reflected, as CRC-32C does: bit 31 is x^0, bit 0 is x^31.

/// P of CRC-32C without its x^32, reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// The polynomial 1.
const ONE: u32 = 1 << 31;

/// x^(8n) modulo P: what n more bytes do to the checksum of the bytes before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrcShift(u32);

impl CrcShift {
    /// For `bytes` more bytes, by squaring: at most 64 · 2 multiplications.
    pub fn new(bytes: usize) -> Self {
        let mut power = multiply(ONE >> 1, ONE >> 1); // x^2
        power = multiply(power, power); // x^4
        power = multiply(power, power); // x^8
        let (mut result, mut left) = (ONE, bytes);
        while left != 0 {
            if left & 1 == 1 {
                result = multiply(power, result);
            }
            power = multiply(power, power);
            left >>= 1;
        }
        Self(result)
    }

    /// For the bytes of this one and those of `more` together.
    pub fn then(self, more: Self) -> Self {
        Self(multiply(self.0, more.0))
    }

    /// CRC-32C of `a` followed by `b`, where this is the shift for the length of `b`.
    pub fn combine(self, crc_a: u32, crc_b: u32) -> u32 {
        multiply(self.0, crc_a) ^ crc_b
    }
}

/// Product of two polynomials modulo P.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for power in (0..32).rev() {
        // A mask instead of a branch: the bits of a checksum cannot be predicted.
        product ^= b & (a >> power & 1).wrapping_neg();
        b = (b >> 1) ^ (POLYNOMIAL & (b & 1).wrapping_neg());
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_checksums_equal_the_checksum_of_the_joined(
            a in proptest::collection::vec(any::<u8>(), 0..300),
            b in proptest::collection::vec(any::<u8>(), 0..3000),
        ) {
            let joined = [a.as_slice(), b.as_slice()].concat();
            let combined = CrcShift::new(b.len()).combine(crc32c::crc32c(&a), crc32c::crc32c(&b));
            prop_assert_eq!(combined, crc32c::crc32c(&joined));
        }

        #[test]
        fn any_length_agrees_with_the_crate(crc_a: u32, crc_b: u32, bytes in 0usize..1 << 40) {
            prop_assert_eq!(
                CrcShift::new(bytes).combine(crc_a, crc_b),
                crc32c::crc32c_combine(crc_a, crc_b, bytes)
            );
        }

        #[test]
        fn shifts_add_up(a in 0usize..1 << 30, b in 0usize..1 << 30) {
            prop_assert_eq!(CrcShift::new(a).then(CrcShift::new(b)), CrcShift::new(a + b));
        }
    }

    #[test]
    fn nothing_appended_changes_nothing() {
        assert_eq!(CrcShift::new(0).combine(0xdead_beef, 0), 0xdead_beef);
    }
}
