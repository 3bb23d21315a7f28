//! A broker that can be killed and started again on what it had written: Apache Kafka in KRaft mode, of the release whose jars
//! kdyno names.

use crate::lab::{free_port, reported, wait_for};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A broker of its own.
pub struct Broker {
    folder: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl Broker {
    /// Formats its folder and starts it.
    pub async fn start(name: &str) -> Self {
        let folder = Path::new(&reported("KDYNO_FOLDER")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let (port, controller) = (free_port(), free_port());
        let settings = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={}\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=2\ngroup.initial.rebalance.delay.ms=0\n",
            folder.join("logs").display()
        );
        std::fs::write(folder.join("server.properties"), settings).expect("written");
        let mut broker = Self { folder, port, process: None };
        let id = "a2R5bm8tbGlicmFyeS10ZQ";
        let mut format = broker.java("kafka.tools.StorageTool");
        let formatted = format.args(["format", "-t", id, "-c"]).arg(broker.settings()).status();
        assert!(formatted.expect("Java starts").success(), "see {}", broker.folder.display());
        broker.start_again().await;
        broker
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    fn java(&self, class: &str) -> Command {
        let log =
            File::options().create(true).append(true).open(self.folder.join("broker.log")).expect("a log");
        let mut command = Command::new(reported("KDYNO_JAVA"));
        command.args(["-Xmx256m", "-cp", &reported("KDYNO_KAFKA_CLASSPATH"), class]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("the same log")).stderr(log);
        command
    }

    /// Where clients find it.
    pub fn bootstrap_servers(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("killed");
            process.wait().expect("ended");
        }
    }

    /// Starts it, and waits until it answers.
    pub async fn start_again(&mut self) {
        self.process = Some(self.java("kafka.Kafka").arg(self.settings()).spawn().expect("Java starts"));
        let client: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.bootstrap_servers())
            .create()
            .expect("a client");
        wait_for("the broker", async || client.fetch_metadata(None, Duration::from_secs(2)).ok()).await;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
