//! How much of each limit was used.

use super::pinned;
use crate::caveats::generator::{headroom, is_thread_of};
use crate::caveats::host::given_bytes_per_s;
use crate::cpu;
use crate::evidence::Window;
use crate::java;
use crate::rows::{ItemRows, TrialRows};
use kdyno_model::conclusion::{LimitEvidence, LimitKind, ShareOf};
use kdyno_model::declared::bytes_per_s;
use kdyno_model::event::Subject;
use kdyno_model::plan::ProducePlan;
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::series;
use kdyno_model::units;
use std::collections::BTreeMap;

/// Share of the clients' time for which answers must have been held back for a quota to be the limit.
const THROTTLED_SHARE_MIN: f64 = 0.05;

/// Share of what the host's programs used below which brokers on it are not what fills its processors.
const BROKERS_SHARE_MIN: f64 = 0.1;

/// Share of the brokers' processors below which an acknowledgement that takes long waits for something else.
pub(super) const IDLE_SHARE: f64 = 0.5;

/// Every candidate but the schedule, judged or not.
pub(super) fn of(trial: &TrialRows<'_>, item: &ItemRows<'_>, window: Window) -> Vec<LimitEvidence> {
    let Some(asked) = ProducingItem::of(trial, item, window) else { return Vec::new() };
    let mut all = vec![
        asked.generator(),
        asked.broker_processors(),
        asked.disk(),
        asked.network(),
        asked.requests_in_flight(),
        asked.replication(),
        asked.client_buffer(),
        asked.quota(),
    ];
    all.extend(asked.linger().into_iter().chain(asked.link()));
    all
}

/// CPU time that the programs on the host used in the window, seconds.
struct HostUse {
    /// Workers and Java clients.
    generator_s: f64,
    /// Brokers that were probed.
    brokers_s: f64,
    others_s: f64,
}

impl HostUse {
    fn all_s(&self) -> f64 {
        self.generator_s + self.brokers_s + self.others_s
    }
}

/// An item that produces, in its trial.
pub(super) struct ProducingItem<'a> {
    pub(super) trial: &'a TrialRows<'a>,
    pub(super) item: &'a ItemRows<'a>,
    pub(super) plan: &'a ProducePlan,
    pub(super) window: Window,
}

pub(super) fn evidence(kind: LimitKind, used: Option<f64>, detail: String) -> LimitEvidence {
    let used = used.filter(|used| used.is_finite());
    LimitEvidence { kind, used, shares: BTreeMap::new(), others: None, detail }
}

/// The largest of shares of different things.
fn largest(kind: LimitKind, mut shares: BTreeMap<ShareOf, f64>, detail: String) -> LimitEvidence {
    shares.retain(|_, share| share.is_finite());
    let used = shares.values().copied().reduce(f64::max);
    LimitEvidence { shares, ..evidence(kind, used, detail) }
}

pub(super) fn not_judged(kind: LimitKind, detail: &str) -> LimitEvidence {
    evidence(kind, None, detail.to_owned())
}

/// Why what rests on requests is not judged of a Java client.
pub(super) const REQUESTS_UNSEEN: &str = "the requests of a Java client are not seen";
/// The candidates that rest on their bytes.
pub(super) const BYTES_UNSEEN: &str = "how many bytes Java clients send and fetch is not seen";

pub(super) fn percent(share: f64) -> String {
    format!("{} %", units::significant(100.0 * share))
}

impl<'a> ProducingItem<'a> {
    /// `None`: it does not produce.
    pub(super) fn of(trial: &'a TrialRows<'a>, item: &'a ItemRows<'a>, window: Window) -> Option<Self> {
        Some(Self { trial, item, plan: item.plan.role.as_produce()?, window })
    }
}

impl ProducingItem<'_> {
    fn generator(&self) -> LimitEvidence {
        let (mut parts, mut shares) = (Vec::new(), BTreeMap::new());
        if let Some(share) = self.busiest_thread_share() {
            shares.insert(ShareOf::Thread, share);
            parts.push(format!("its busiest thread ran or was ready for {} of the window", percent(share)));
        }
        if let Some(headroom) = headroom(self.trial, self.item, self.window) {
            let max = units::count(headroom.max_per_s);
            let who = headroom.generator.map_or("it".to_owned(), |host| format!("generator {host}"));
            parts.push(format!("{who} reaches {max}/s against a broker that does nothing"));
            shares.insert(ShareOf::Calibration, headroom.used());
        }
        if let Some(share) = self.host_share_of_generator() {
            parts.push(format!(
                "it used more than the brokers, and than other programs, of a host whose CPUs were busy for {}",
                percent(share)
            ));
            shares.insert(ShareOf::Host, share);
        }
        if shares.is_empty() {
            parts.push("its threads were not probed".to_owned());
        }
        if let Some(used_s) = self.java_used_s() {
            let cores = units::significant(used_s / self.window.seconds());
            parts.push(format!("its Java client used {cores} CPUs, of how many it can is not known"));
        }
        LimitEvidence {
            others: self.others_share(),
            ..largest(LimitKind::Generator, shares, parts.join("; "))
        }
    }

    /// CPU time of the item's Java processes, where it has such, seconds.
    fn java_used_s(&self) -> Option<f64> {
        let processes = java::processes(self.trial, self.item);
        let used_s = cpu::used_by_all_s(self.trial.probes(), &processes, self.window);
        used_s.filter(|_| !processes.is_empty())
    }

    /// Share of the window in which the item's busiest thread ran or was ready to.
    fn busiest_thread_share(&self) -> Option<f64> {
        let probes = self.trial.probes();
        let workers = self.trial.workers();
        let shares = workers.iter().flat_map(|worker| {
            let waited = cpu::threads_waited_s(probes, worker, self.window);
            let used = cpu::threads_s(probes, worker, self.window).into_iter();
            let own = used.filter(|(thread, _)| is_thread_of(thread, self.item.name));
            own.map(move |(thread, used_s)| used_s + waited.get(thread).copied().unwrap_or(0.0))
        });
        shares.map(|busy_s| busy_s / self.window.seconds()).reduce(f64::max)
    }

    /// How busy the shared host is, where the generator has more of its processors than brokers, and than all other
    /// programs. On a duet's host that says nothing of one side.
    fn host_share_of_generator(&self) -> Option<f64> {
        if self.is_of_duet() {
            return None;
        }
        let of = self.host_use()?;
        let is_its_own = of.generator_s > of.brokers_s && of.generator_s > of.others_s;
        cpu::host_busy_share(self.trial.probes(), self.window).filter(|_| is_its_own)
    }

    /// Who used the processors of the host; `None` where one of them was not probed.
    fn host_use(&self) -> Option<HostUse> {
        let probes = self.trial.probes();
        let generators: Vec<Subject> =
            self.trial.workers_here().into_iter().chain(java::all_processes(self.trial)).collect();
        let generator_s = cpu::used_by_all_s(probes, &generators, self.window)?;
        let brokers_s = cpu::used_by_all_s(probes, &self.trial.brokers(), self.window)?;
        // In a target the brokers may be among the others.
        let others_s = cpu::host_programs_s(probes, self.window)? - generator_s - brokers_s;
        Some(HostUse { generator_s, brokers_s, others_s })
    }

    /// What programs that are none of the run's used of the host's processors, as a share.
    fn others_share(&self) -> Option<f64> {
        let probes = self.trial.probes();
        let mut own = cpu::subjects(probes, cpu::is_own_process);
        // Brokers elsewhere that report their own time are no programs of this host.
        let here = self.trial.brokers();
        own.retain(|one| !matches!(one, Subject::Broker(_)) || here.contains(one));
        own.retain(|one| self.trial.is_here(one));
        let others_s =
            cpu::host_programs_s(probes, self.window)? - cpu::used_by_all_s(probes, &own, self.window)?;
        let all_s = self.window.seconds() * f64::from(self.trial.evidence.session.processors);
        (all_s > 0.0).then(|| (others_s / all_s).clamp(0.0, 1.0))
    }

    /// A CPU time as a number of CPUs over the window.
    fn processors(&self, used_s: f64) -> String {
        units::significant(used_s.max(0.0) / self.window.seconds())
    }

    /// Why a host with so much of it busy is not full because of the brokers; `None`: it may be, or it is idle, which
    /// says how busy its brokers are.
    fn not_by_brokers(&self, busy_share: f64) -> Option<String> {
        let is_null = !self.trial.evidence.start.trial.effective.system.is_kafka();
        let is_by_generator = busy_share >= IDLE_SHARE && self.host_share_of_generator().is_some();
        if !is_null && !is_by_generator {
            return None;
        }
        let Some(of) = self.host_use() else {
            return is_null.then(|| "who used the host's CPUs is not known".to_owned());
        };
        let (whose, little_s) = match is_null {
            // The client is what is measured, as long as it takes more than what does nothing.
            true => ("the null broker", of.generator_s),
            false => ("the brokers", BROKERS_SHARE_MIN * of.all_s()),
        };
        let is_little = of.brokers_s < little_s;
        let [used, all] = [of.brokers_s, of.all_s()].map(|used_s| self.processors(used_s));
        is_little.then(|| format!("{whose} used {used} of the {all} CPUs that were in use"))
    }

    /// Why a host that is busy is full neither because of brokers nor of the load: other programs use most of it, and more than
    /// twice what the brokers do; `None`: they do not, or it is idle.
    fn taken_by_others(&self, busy_share: f64) -> Option<String> {
        let is_theirs = |of: &HostUse| of.others_s > (of.all_s() / 2.0).max(2.0 * of.brokers_s);
        let of = self.host_use().filter(|of| busy_share >= IDLE_SHARE && is_theirs(of))?;
        let [others, all, brokers] =
            [of.others_s, of.all_s(), of.brokers_s].map(|used_s| self.processors(used_s));
        Some(format!(
            "other programs used {others} of the {all} CPUs that were in use, the brokers {brokers}"
        ))
    }

    fn is_of_duet(&self) -> bool {
        self.trial.evidence.start.trial.is_of_duet()
    }

    fn broker_processors(&self) -> LimitEvidence {
        let kind = LimitKind::BrokerProcessors;
        if self.is_of_duet() {
            return not_judged(kind, "the other side of the pair used them too");
        }
        let start = &self.trial.evidence.start;
        if !start.is_on_this_host() {
            return not_judged(kind, "nothing is known of the CPUs of a cluster elsewhere");
        }
        let cluster = start.trial.effective.system.cluster();
        let (place, by_place) = match cluster.map_or(&[][..], |cluster| cluster.pinned_to.as_slice()) {
            [] => (ShareOf::Host, self.shared_host()),
            cpus => (ShareOf::PinnedTo, self.pinned_brokers(cpus)),
        };
        let Some(limit) = cluster.and_then(|cluster| cluster.cpu_limit) else { return by_place };
        let by_limit = self.limited_broker(limit);
        // Brokers may fill their host, or what they are pinned to, below their limit.
        let of = [(place, by_place.used), (ShareOf::CpuLimit, by_limit.used)];
        let shares = of.into_iter().filter_map(|(of, used)| Some((of, used?))).collect();
        let is_limit = by_limit.used >= by_place.used;
        let found = largest(kind, shares, if is_limit { by_limit.detail } else { by_place.detail });
        LimitEvidence { others: by_place.others, ..found }
    }

    /// For brokers with a limit of CPU time: the one that used most of it.
    fn limited_broker(&self, processors: f64) -> LimitEvidence {
        let kind = LimitKind::BrokerProcessors;
        let Some(used) = self.busiest_broker() else {
            return not_judged(kind, "the brokers were not probed");
        };
        let share = used / processors;
        let all = units::processors(processors);
        let detail = format!("a broker used {} of the {all} that it may use", percent(share));
        evidence(kind, Some(share), detail)
    }

    fn pinned_brokers(&self, cpus: &[Vec<u32>]) -> LimitEvidence {
        let kind = LimitKind::BrokerProcessors;
        let Some((share, brokers)) = self.pinned_share(cpus) else {
            return not_judged(kind, "the brokers were not probed");
        };
        let whose = if brokers == 1 { "a broker" } else { &format!("{brokers} brokers together") };
        let busy = percent(share);
        let detail = format!("the CPUs that {whose} may run on were busy for {busy} at least");
        evidence(kind, Some(share), detail)
    }

    /// For brokers that share their host with the load.
    fn shared_host(&self) -> LimitEvidence {
        let kind = LimitKind::BrokerProcessors;
        let Some(share) = cpu::host_busy_share(self.trial.probes(), self.window) else {
            return not_judged(kind, "the host was not probed");
        };
        if share >= IDLE_SHARE && self.trial.brokers().is_empty() {
            // For a target: what filled them is not known. If a host is mostly idle its brokers use no more than that.
            let busy = percent(share);
            let detail = format!(
                "the brokers were not probed: what they used of this host's CPUs, which were busy for {busy}, cannot be \
                 separated from what other programs used"
            );
            return not_judged(kind, &detail);
        }
        if let Some(why) = self.not_by_brokers(share).or_else(|| self.taken_by_others(share)) {
            return not_judged(kind, &why);
        }
        let pressure = self.pressure_share(series::CPU_PRESSURE_S_TOTAL);
        let waited = pressure.map_or_else(String::new, |share| {
            format!("; something waited for one of them for {} of the window", percent(share))
        });
        let busy = percent(share);
        let detail = format!("the shared host's CPUs were busy for {busy}{waited}");
        let shares = BTreeMap::from([(ShareOf::Host, share)]);
        LimitEvidence { others: self.others_share(), ..largest(kind, shares, detail) }
    }

    /// Processors that the broker used that used most.
    fn busiest_broker(&self) -> Option<f64> {
        let used = |broker: &Subject| cpu::used_s(self.trial.probes(), broker, self.window);
        let all = self.trial.brokers().iter().map(used).collect::<Option<Vec<f64>>>()?;
        Some(all.into_iter().reduce(f64::max)? / self.window.seconds())
    }

    /// For brokers that are pinned to CPUs: how busy the busiest of these were, with everything that runs on
    /// them, and how many brokers share them.
    fn pinned_share(&self, cpus: &[Vec<u32>]) -> Option<(f64, usize)> {
        let probes = self.trial.probes();
        let brokers = self.trial.brokers();
        let used = brokers.iter().zip(cpus.iter().cycle()).filter_map(|(broker, own)| {
            let used_s = cpu::used_s(probes, broker, self.window)?;
            Some((own.as_slice(), used_s / self.window.seconds()))
        });
        let processors = f64::from(self.trial.evidence.session.processors);
        let host_used_s = cpu::used_s(probes, &Subject::Host, self.window);
        let host = host_used_s.map(|used_s| (used_s / self.window.seconds(), processors));
        let groups = pinned::groups(used);
        let shares = groups.iter().map(|group| (group.busy_share(host), group.brokers));
        shares.reduce(|best, one| if one.0 > best.0 { one } else { best })
    }

    /// Share of the window in which something on the host waited.
    fn pressure_share(&self, counter: &str) -> Option<f64> {
        let waited_s = cpu::counter_s(self.trial.probes(), &Subject::Host, counter, self.window)?;
        Some(waited_s / self.window.seconds())
    }

    fn disk(&self) -> LimitEvidence {
        let pressure = self.pressure_share(series::IO_PRESSURE_S_TOTAL);
        let waited = pressure.map_or_else(String::new, |share| {
            format!("; something waited for a disk for {} of the window", percent(share))
        });
        let Some((limit, brokers)) = self.declared("disk.limit") else {
            let detail = format!(
                "no limit is declared (`disk.limit` in `facts` of the target or `environment` of the scenario) or measured{waited}"
            );
            return evidence(LimitKind::Disk, None, detail);
        };
        let Some(given) = given_bytes_per_s(self.trial, self.window) else {
            return not_judged(LimitKind::Disk, BYTES_UNSEEN);
        };
        let per_broker = given / brokers;
        let (own, limit_text) = (units::bytes(per_broker), units::bytes(limit));
        let detail = format!("each broker was given {own}/s to write, of {limit_text}/s declared{waited}");
        evidence(LimitKind::Disk, Some(per_broker / limit), detail)
    }

    /// A limit that the target's file or the scenario declares for each broker, bytes/s, and the number of brokers.
    pub(super) fn declared(&self, fact: &str) -> Option<(f64, f64)> {
        let start = &self.trial.evidence.start;
        let of_target = || start.trial.effective.system.target()?.facts.get(fact);
        let text = start.cluster.get(&cluster_fact::declared(fact)).or_else(of_target)?;
        Some((bytes_per_s(text)?, f64::from(self.brokers()?)))
    }

    /// How many brokers there are, at least 1.
    pub(super) fn brokers(&self) -> Option<u32> {
        let start = &self.trial.evidence.start;
        let found = || start.cluster.get("brokers")?.parse().ok();
        start.trial.effective.system.brokers().or_else(found).filter(|brokers| *brokers > 0)
    }

    fn quota(&self) -> LimitEvidence {
        if !self.item.plan.driver.shows_requests() {
            return not_judged(
                LimitKind::Quota,
                "a Java client does not say whether brokers held back answers",
            );
        }
        let share = self.item.throttled_share(self.window);
        if share < THROTTLED_SHARE_MIN {
            return not_judged(LimitKind::Quota, "brokers held back no answers to speak of");
        }
        let detail = format!("brokers held back answers for {} of the clients' time", percent(share));
        evidence(LimitKind::Quota, Some(1.0), detail)
    }
}
