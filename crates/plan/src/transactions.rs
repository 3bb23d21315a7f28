//! Transactions of load items that produce.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::{ProducerSettings, TransactionsPlan};
use kdyno_scenario::file::TransactionsFile;
use kdyno_scenario::yaml::Scalar;

/// Shortest and longest transaction.
pub(crate) const TRANSACTION_NS_MIN: u64 = 1_000_000;
pub(crate) const TRANSACTION_NS_MAX: u64 = 3_600_000_000_000;
/// Most records of a transaction.
pub(crate) const TRANSACTION_RECORDS_MAX: u64 = 1_000_000_000;

/// What an item's transactions are.
pub(crate) fn transactions(
    reader: &CaseReader<'_>,
    typed: &TransactionsFile,
) -> Result<Option<TransactionsPlan>, PlanError> {
    match typed {
        TransactionsFile::Word(typed) => {
            let reported = reader.word(typed, "transactions", &["none"]);
            reported.map(|_| None).map_err(|error| error.hint("`none`, `{every: 100ms}` or `{records: 100}`"))
        }
        TransactionsFile::Each { every, records, abort } => {
            let every = every.as_ref();
            let every_ns =
                every.map(|every| reader.ns(every, "every", TRANSACTION_NS_MIN..=TRANSACTION_NS_MAX));
            let records = records.as_ref();
            let records =
                records.map(|records| reader.whole(records, "records", 1..=TRANSACTION_RECORDS_MAX));
            Ok(Some(TransactionsPlan {
                every_ns: every_ns.transpose()?.unwrap_or(TRANSACTION_NS_MAX),
                records: records.transpose()?,
                abort_share: reader.share(abort, "abort")?,
            }))
        }
    }
}

/// The coordinator would abort it before it ends. One that ends by its records ends in time where these do not come.
pub(crate) fn within_timeout(
    reader: &CaseReader<'_>,
    every: Option<&Scalar>,
    transactions: &mut TransactionsPlan,
    client: &ProducerSettings,
) -> Result<(), PlanError> {
    let Some(typed) = every else {
        let half_ns = client.transaction_timeout_ns / 2;
        transactions.every_ns = half_ns.clamp(TRANSACTION_NS_MIN, TRANSACTION_NS_MAX);
        return Ok(());
    };
    if transactions.every_ns < client.transaction_timeout_ns {
        return Ok(());
    }
    let timeout_ms = client.transaction_timeout_ns / 1_000_000;
    let message =
        format!("a coordinator aborts transactions after `transaction.timeout.ms`, {timeout_ms} ms");
    let hint =
        "end them sooner, or set `transaction.timeout.ms` in `client` (brokers allow 15 minutes by default)";
    Err(reader.wrong(typed, message).hint(hint))
}
