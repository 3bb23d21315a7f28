//! A null broker in this process, for clients that do not run on this host's loopback.

use kdyno_kafka_server::null_broker::{NullBrokerOptions, NullBrokerStats, serve};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub struct ServedBroker {
    /// `HOST:PORT`.
    pub address: String,
    stop: Arc<AtomicBool>,
    serving: JoinHandle<std::io::Result<NullBrokerStats>>,
}

impl ServedBroker {
    pub fn start(listener: TcpListener, options: NullBrokerOptions) -> Self {
        let address = listener.local_addr().expect("bound").to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let serving = std::thread::spawn(move || serve(listener, options, asked));
        Self { address, stop, serving }
    }

    /// What it saw.
    pub fn stop(self) -> NullBrokerStats {
        self.stop.store(true, Ordering::Relaxed);
        self.serving.join().expect("no panic").expect("served")
    }
}
