//! Avro's binary encoding of what a value consists of (Avro specification, "Binary Encoding").

/// Appends an `int` or a `long`: zigzag, then seven bits to a byte, the lowest first.
pub(crate) fn long(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends `bytes` or a `string`: its length, then itself.
pub(crate) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

/// The unscaled value of a decimal as two's complement, big-endian, in as few bytes as it takes.
pub(crate) fn unscaled(number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let sign = if number < 0 { 0xff } else { 0 };
    let is_needless = |pair: &[u8]| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0;
    let skipped = bytes.windows(2).take_while(|pair| is_needless(pair)).count();
    bytes[skipped..].to_vec()
}
