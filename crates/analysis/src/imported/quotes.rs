//! Quotation marks of a CSV file. Its reader takes what follows an open one as one cell, over lines and to the end of the file,
//! and so loses rows without a word.

/// Where in a cell a byte is.
#[derive(Clone, Copy, PartialEq)]
enum CellState {
    Begin,
    Plain,
    /// Between quotation marks, the first of them in this line.
    Quoted(u64),
    /// Behind a quotation mark that ends such a cell, unless another one follows: two mean one.
    Ended(u64),
}

/// Whether each cell that begins with a quotation mark ends with one; a mark within a cell that begins otherwise is a
/// character like others.
///
/// # Errors
/// One lowercase sentence with the line of the first that does not.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut at = CellState::Begin;
    let mut line = 1;
    for &byte in bytes {
        at = match (at, byte) {
            (CellState::Quoted(from), b'"') => CellState::Ended(from),
            (CellState::Quoted(from), _) | (CellState::Ended(from), b'"') => CellState::Quoted(from),
            (CellState::Begin, b'"') => CellState::Quoted(line),
            (_, b',' | b'\n' | b'\r') => CellState::Begin,
            (CellState::Ended(_), b' ' | b'\t') => at,
            (CellState::Ended(_), _) => {
                return Err(format!("line {line}: a character follows the quotation mark that ends a value"));
            }
            (CellState::Begin | CellState::Plain, _) => CellState::Plain,
        };
        line += u64::from(byte == b'\n');
    }
    match at {
        CellState::Quoted(from) => Err(format!("line {from}: a quotation mark is not closed")),
        CellState::Begin | CellState::Plain | CellState::Ended(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_quotation_mark_is_located() {
        for good in [
            "",
            "a,\"b\"\n",
            "a,\"as \"\"said\"\"\nhere\" ,c\r\n",
            "0,5\" disk\n60,\"two\nlines\"\n",
            "\"\",\"\"\"\"",
        ] {
            assert_eq!(check(good.as_bytes()), Ok(()), "{good}");
        }
        let open = |text: &str| check(text.as_bytes()).expect_err("it is open");
        assert_eq!(
            open("time,note\n0,\"as \"\"said\"\"\nhere\"\n60,\"open\n120,x\n"),
            "line 4: a quotation mark is not closed"
        );
        // Two open ones make one cell of what lies between them.
        let two = open("0,\"open\n60,x\n120,\"again\n180,y\n");
        assert_eq!(two, "line 3: a character follows the quotation mark that ends a value");
    }
}
