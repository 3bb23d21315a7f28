//! Networks whose bandwidth somebody declares: that of each broker, and of the links between zones.

use super::candidates::{BYTES_UNSEEN, ProducingItem, evidence, not_judged};
use crate::caveats::host::given_bytes_per_s;
use crate::cpu;
use crate::relay;
use crate::rows::ItemRows;
use kdyno_model::conclusion::{LimitEvidence, LimitKind};
use kdyno_model::plan::ZonesPlan;
use kdyno_model::units;

impl<'a> ProducingItem<'a> {
    /// A broker receives what it stores; it sends that to followers, once less than there are replicas, and to
    /// consumers.
    pub(super) fn network(&self) -> LimitEvidence {
        let Some((limit, brokers)) = self.declared("network.limit") else {
            let detail = "no limit is declared (`network.limit` in `facts` of the target or `environment` of the scenario) or \
                          measured";
            return not_judged(LimitKind::Network, detail);
        };
        let per_s = |bytes: u64| bytes as f64 / self.window.seconds();
        let consumes = |item: &ItemRows<'_>| item.plan.role.as_produce().is_none();
        let is_unseen =
            self.trial.items.iter().any(|item| !item.plan.driver.shows_requests() && consumes(item));
        let Some(given) = given_bytes_per_s(self.trial, self.window).filter(|_| !is_unseen) else {
            return not_judged(LimitKind::Network, BYTES_UNSEEN);
        };
        let counts = || self.trial.items.iter().map(|item| (item, &item.tally.windowed));
        let produced: f64 = counts()
            .filter(|(item, _)| item.plan.role.as_produce().is_some())
            .map(|(_, counts)| per_s(counts.request_bytes))
            .sum();
        let fetched: f64 = counts().map(|(_, counts)| per_s(counts.fetched_bytes)).sum();
        let per_broker = given.max(given - produced + fetched) / brokers;
        let (own, limit_text) = (units::bytes(per_broker), units::bytes(limit));
        let detail = format!("each broker received or sent {own}/s, of {limit_text}/s declared");
        evidence(LimitKind::Network, Some(per_broker / limit), detail)
    }

    /// The zone of the item's clients and what its cluster has of zones, where its way to a broker leads over a link.
    pub(super) fn zones(&self) -> Option<(&'a str, &'a ZonesPlan)> {
        let system = &self.trial.evidence.start.trial.effective.system;
        let (zones, brokers) = (system.zones()?, system.brokers()?);
        let zone = self.item.plan.zone.as_deref().filter(|zone| zones.is_relayed(zone, brokers))?;
        Some((zone, zones))
    }

    /// The link that its requests go over; `None`: they go over none, or it carries as much as it can.
    pub(super) fn link(&self) -> Option<LimitEvidence> {
        let kind = LimitKind::Link;
        let (zone, zones) = self.zones()?;
        let declared = zones.link.bytes_per_s? as f64;
        let way_from = format!("{zone}>");
        let relays = cpu::subjects(self.trial.probes(), relay::is_relay);
        let carried = relays.iter().flat_map(|relay| {
            let ways = relay::relayed_bytes(self.trial.probes(), relay, self.window).into_iter();
            ways.filter_map(|(way, bytes)| Some((way.strip_prefix(&way_from)?, bytes)))
        });
        let fullest = carried.reduce(|most, one| if one.1 > most.1 { one } else { most });
        let Some((to, bytes)) = fullest else {
            return Some(not_judged(kind, "what the link between its zones carried is not known"));
        };
        let per_s = bytes / self.window.seconds();
        let [carried, declared_text] = [per_s, declared].map(units::bytes);
        let detail =
            format!("the link from {zone} to {to} carried {carried}/s, of {declared_text}/s declared");
        Some(evidence(kind, Some(per_s / declared), detail))
    }
}
