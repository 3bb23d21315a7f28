//! Arguments of several commands.

use clap::Args;

/// What is produced, and where to.
#[derive(Debug, Args)]
pub struct ProduceArgs {
    /// Brokers to ask first, HOST:PORT,…
    #[arg(long, value_delimiter = ',', required = true)]
    pub bootstrap: Vec<String>,
    /// Topic, which must exist
    #[arg(long)]
    pub topic: String,
    /// Bytes of a value
    #[arg(long, default_value_t = 128)]
    pub value: u32,
    /// `batch.size`, bytes
    #[arg(long, default_value_t = 16_384)]
    pub batch: u32,
    /// `acks`: 0, 1 or -1; a replay needs acknowledgements
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    pub acks: i16,
    /// `max.in.flight.requests.per.connection`
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub in_flight: u32,
}
