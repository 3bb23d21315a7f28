//! The `transactions` of a load item that produces, as typed.

use crate::input::InputError;
use crate::keys;
use crate::walk::Fields;
use crate::yaml::{Scalar, YamlNode};

/// Transactions.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub enum TransactionsFile {
    /// `none`.
    Word(Scalar),
    Each {
        every: Option<Scalar>,
        records: Option<Scalar>,
        abort: Scalar,
    },
}

/// Reads them from an item's keys.
pub(super) fn transactions(fields: &Fields<'_>) -> Result<TransactionsFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("transactions") else {
        return fields.required("transactions").map(TransactionsFile::Word);
    };
    let fields = Fields::of(node, &keys::TRANSACTIONS)?;
    let (every, records) = (fields.scalar("every")?, fields.scalar("records")?);
    if every.is_none() && records.is_none() {
        return Err(InputError::at(fields.place, "`transactions` says neither `every` nor `records`")
            .hint("e.g. `{every: 100ms}`, or `{records: 100}`"));
    }
    Ok(TransactionsFile::Each { every, records, abort: fields.required("abort")? })
}
