//! Whether all pods fit together on the nodes that may run them, by what these can allocate.

use crate::quantity::number;
use kdyno_model::generator::GeneratorPods;
use serde_json::Value;

/// What a node gives to pods.
fn allocatable(node: &Value, what: &str) -> f64 {
    node["status"]["allocatable"][what].as_str().and_then(number).unwrap_or(0.0)
}

/// Room for so many pods on one node, without what runs there already.
fn room(node: &Value, pods: &GeneratorPods) -> u64 {
    // A node that allocates two processors has room for two pods of one.
    let of_cpu = allocatable(node, "cpu") * 1000.0 / f64::from(pods.cpu_milli);
    let of_memory = allocatable(node, "memory") / pods.memory_bytes as f64;
    of_cpu.min(of_memory).min(allocatable(node, "pods")) as u64
}

fn may_run(node: &Value, pods: &GeneratorPods) -> bool {
    let labels = &node["metadata"]["labels"];
    let has = |(name, value): (&String, &String)| labels[name.as_str()].as_str() == Some(value);
    let is_closed = node["spec"]["unschedulable"].as_bool().unwrap_or(false);
    let never = |taint: &Value| taint["effect"] == "NoSchedule" || taint["effect"] == "NoExecute";
    let is_tainted = node["spec"]["taints"].as_array().is_some_and(|taints| taints.iter().any(never));
    !is_closed && !is_tainted && pods.node_selector.iter().all(has)
}

/// Says why the pods can never run at once; `None`: they may.
pub fn why_not(pods: &GeneratorPods, nodes: &[Value]) -> Option<String> {
    let open: Vec<&Value> = nodes.iter().filter(|node| may_run(node, pods)).collect();
    let room: u64 = open.iter().map(|node| room(node, pods)).sum();
    if room >= u64::from(pods.count) {
        return None;
    }
    let allocatable: Vec<String> = open
        .iter()
        .map(|node| {
            let of = |what: &str| node["status"]["allocatable"][what].as_str().unwrap_or("?").to_owned();
            let name = node["metadata"]["name"].as_str().unwrap_or("a node");
            format!("{name}: cpu {}, memory {}", of("cpu"), of("memory"))
        })
        .collect();
    let pods = format!(
        "{} pods with {} CPUs and {} MiB each",
        pods.count,
        f64::from(pods.cpu_milli) / 1000.0,
        pods.memory_bytes >> 20
    );
    Some(match allocatable.as_slice() {
        [] => format!("{pods} do not fit: none of the {} nodes may run them", nodes.len()),
        some => {
            /// More of them would hide the sentence.
            const SHOWN: usize = 8;
            let more = some.len().saturating_sub(SHOWN);
            let rest = if more > 0 { format!(" and {more} more nodes") } else { String::new() };
            let shown = some[..some.len() - more].join("; ");
            format!(
                "{pods} do not fit: there is room for {room}, even where nothing else runs ({shown}{rest})"
            )
        }
    })
}

/// Says why pods of several kinds can never run at once; `None`: they may.
pub fn why_not_together(kinds: &[GeneratorPods], nodes: &[Value]) -> Option<String> {
    const GIB: f64 = (1_u64 << 30) as f64;
    /// CPUs by which rounding may move the sum.
    const ROUNDING: f64 = 0.0005;
    if let Some(why) = kinds.iter().find_map(|pods| why_not(pods, nodes)) {
        return Some(why);
    }
    let open: Vec<&Value> =
        nodes.iter().filter(|node| kinds.iter().any(|pods| may_run(node, pods))).collect();
    let have = |what: &str| open.iter().map(|node| allocatable(node, what)).sum::<f64>();
    let want = |of: &dyn Fn(&GeneratorPods) -> f64| {
        kinds.iter().map(|pods| f64::from(pods.count) * of(pods)).sum::<f64>()
    };
    let (cpus, cpus_there) = (want(&|pods| f64::from(pods.cpu_milli)) / 1000.0, have("cpu"));
    let (gib, gib_there) = (want(&|pods| pods.memory_bytes as f64) / GIB, have("memory") / GIB);
    if cpus <= cpus_there + ROUNDING && gib <= gib_there {
        return None;
    }
    let count: u32 = kinds.iter().map(|pods| u32::from(pods.count)).sum();
    Some(format!(
        "{count} pods at once do not fit: they reserve {cpus:.1} CPUs and {gib:.1} GiB, and the nodes that may run them \
         have {cpus_there:.1} CPUs and {gib_there:.1} GiB, even where nothing else runs"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use serde_json::json;

    fn pods(count: u16, cpu_milli: u32) -> GeneratorPods {
        let (memory_bytes, node_selector) = (1 << 30, Default::default());
        GeneratorPods { count, cpu_milli, memory_bytes, node_selector, ..objects::tests::pods() }
    }

    fn node(name: &str, cpu: &str) -> Value {
        json!({
            "metadata": {"name": name, "labels": {"pool": name}},
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
        })
    }

    /// 36 pods of two processors on 24 processors, as a published report would have them.
    #[test]
    fn pods_that_can_never_run_together_are_found() {
        let nodes: Vec<Value> = (0..3).map(|at| node(&format!("n{at}"), "8")).collect();
        assert_eq!(why_not(&pods(12, 2000), &nodes), None);
        let why = why_not(&pods(36, 2000), &nodes).expect("too many");
        assert!(
            why.starts_with("36 pods with 2 CPUs and 1024 MiB each do not fit: there is room for 12"),
            "{why}"
        );
        assert!(why.contains("n2: cpu 8, memory 8Gi"), "{why}");
        assert!(why_not(&pods(25, 100), &nodes).is_some(), "memory for 24");
        assert!(why_not(&pods(3, 8001), &nodes).is_some());
        assert_eq!(why_not(&pods(3, 8000), &[nodes.clone(), vec![node("n3", "1930m")]].concat()), None);
    }

    /// Pods of load and pods of commands: each kind alone would fit.
    #[test]
    fn kinds_of_pods_that_never_fit_together_are_found() {
        let nodes: Vec<Value> = (0..3).map(|at| node(&format!("n{at}"), "8")).collect();
        assert_eq!(why_not_together(&[pods(6, 2000), pods(6, 2000)], &nodes), None);
        assert_eq!(why_not_together(&[], &nodes), None);
        let why = why_not_together(&[pods(1, 100), pods(6, 2000), pods(6, 2000)], &nodes).expect("too many");
        assert!(why.starts_with("13 pods at once do not fit: they reserve 24.1 CPUs and 13.0 GiB"), "{why}");
        assert!(why.contains("have 24.0 CPUs and 24.0 GiB"), "{why}");
        assert!(why_not_together(&[pods(13, 100), pods(12, 100)], &nodes).is_some(), "memory for 24");
        let why = why_not_together(&[pods(1, 100), pods(18, 2000)], &nodes).expect("too many of a kind");
        assert!(why.starts_with("18 pods with 2 CPUs"), "{why}");
    }

    #[test]
    fn nodes_that_may_not_run_them_have_no_room() {
        let mut nodes = vec![node("a", "8"), node("b", "8")];
        let selected =
            GeneratorPods { node_selector: [("pool".to_owned(), "b".to_owned())].into(), ..pods(8, 1000) };
        assert_eq!(why_not(&selected, &nodes), None);
        nodes[1]["spec"] = json!({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]});
        assert_eq!(why_not(&selected, &nodes), None);
        nodes[1]["spec"] = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
        let why = why_not(&selected, &nodes).expect("tainted");
        assert!(why.ends_with("do not fit: none of the 2 nodes may run them"), "{why}");
        nodes[1]["spec"] = json!({"unschedulable": true});
        assert!(why_not(&selected, &nodes).is_some());
    }
}
