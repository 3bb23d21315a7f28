//! A service between Kafka and a database, with its load test, next to a real cluster.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{figure, ran, start_scenario};
use std::os::unix::fs::PermissionsExt;

/// The service reads a topic with Kafka's own consumer and writes a row per line to its database; its users ask for their
/// number.
const SCENARIO: &str = r#"kdyno: 1
id: shop
question: What do its users see?
system: {kafka: 4.1.1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM}
topics: {orders: {partitions: 2}}
components:
  database: {postgres: {database: shop}}
  inventory:
    command: |
      set -e
      psql -X -q "$$KDYNO_URL_database" -c "CREATE TABLE seen (at timestamptz DEFAULT now())"
      echo "the table is there"
      "$$KDYNO_JAVA" -Xmx128m -cp "$$KDYNO_KAFKA_CLASSPATH" org.apache.kafka.tools.consumer.ConsoleConsumer \
        --bootstrap-server "$$KDYNO_BOOTSTRAP_SERVERS" --topic "$$KDYNO_TOPIC_orders" --from-beginning |
        LC_ALL=C sed -u "s/.*/INSERT INTO seen DEFAULT VALUES;/" | psql -X -q "$$KDYNO_URL_database"
    ready: {line: the table is there}
load:
  orders: {produce: orders, rate: 20/s, value: 100B}
  users:
    command: |
      for try in $$(seq 60); do
        rows=$$(psql -X -At "$$KDYNO_URL_database" -c "SELECT count(*) FROM seen")
        [ "$$rows" -ge 20 ] && exit 0
        sleep 1
      done
      echo "$$rows rows"; exit 1
phases: {warmup: 1s, condition: none, measure: {until: users, within: 2m}, drain: 5s}
show: {columns: [users.duration, inventory.cpu_percent, database.transactions_per_s]}
"#;

#[test]
fn a_service_and_its_database_pass_records_from_kafka_to_users() {
    let _turn = with_others();
    let place = TestFolder::new();
    // Root starts the database as another user, who has to get there.
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(place.path(), open).expect("opened");
    let said = start_scenario(&place, SCENARIO).wait(RUN_DEADLINE);
    ran(&said);
    place.expect_no_processes();
    let document = place.show();
    assert!((figure(&document, "users.succeeded") - 1.0).abs() < f64::EPSILON, "{said:?}");
    assert!(figure(&document, "inventory.cpu_percent") > 1.0, "a JVM that starts is busy");
    assert!(figure(&document, "database.transactions_per_s") > 1.0);
    assert!(figure(&document, "database.connections_max") >= 1.0);
    assert!(figure(&document, "inventory.memory_rss_bytes_max") > 20e6);
}
