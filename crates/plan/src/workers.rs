//! Which worker has which clients: one worker on this host, or one on each host that carries load.

use crate::choices::PlanError;
use kdyno_model::generator::GeneratorsPlan;
use kdyno_model::grouped::distinct;
use kdyno_model::plan::{CasePlan, LoadPlan, Plan, WorkerPlan, WorkerShare};
use kdyno_scenario::input::{InputError, listed, quoted};
use std::collections::BTreeMap;

/// One worker that has every client of every item, or one for each host that carries load; none where commands are all of
/// the load.
pub(crate) fn workers(load: &BTreeMap<String, LoadPlan>, generators: &GeneratorsPlan) -> Vec<WorkerPlan> {
    if load.is_empty() {
        return Vec::new();
    }
    let count = generators.hosts.len().max(1);
    let mut shares = vec![Vec::new(); count];
    let mut next = 0;
    for (item, plan) in load {
        let places = if generators.is_empty() { vec![0] } else { generators.places_of(item) };
        for (place, client_first, client_count) in dealt(plan.clients, &places, &mut next) {
            shares[place].push(WorkerShare { item: item.clone(), client_first, client_count });
        }
    }
    let workers = (0..).zip(shares).map(|(worker, shares)| WorkerPlan { worker, shares });
    // Early steps of a search may have fewer clients than there are hosts.
    workers.filter(|worker| !worker.shares.is_empty()).collect()
}

/// Clients on places as evenly as can be: place, first client, how many. Clients that are over go to places in turn,
/// beginning with `next`, so that those of several items do not all meet on one.
fn dealt(clients: u32, places: &[usize], next: &mut usize) -> Vec<(usize, u32, u32)> {
    let Ok(count) = u32::try_from(places.len()) else { return Vec::new() };
    let (Some(each), Some(over)) = (clients.checked_div(count), clients.checked_rem(count)) else {
        return Vec::new();
    };
    let first_with_more = *next;
    *next += over as usize;
    let mut first = 0;
    let mut found = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let turn = (at + places.len() - first_with_more % places.len()) % places.len();
        let own = each + u32::from(turn < over as usize);
        if own > 0 {
            found.push((*place, first, own));
        }
        first += own;
    }
    found
}

/// Puts the load of every case on other hosts.
///
/// # Errors
/// A load item cannot run there, a share names none, or a host would have nothing to do.
pub fn on_generators(plan: &mut Plan, generators: &GeneratorsPlan) -> Result<(), PlanError> {
    let is_item = |name: &str| plan.every_case().any(|case| case.load.contains_key(name));
    if let Some(name) = generators.shares.keys().find(|name| !is_item(name)) {
        let items = distinct(plan.every_case().flat_map(|case| case.load.keys().map(String::as_str)));
        let message = format!("`share` of the generators: no load item is called {}", quoted(name));
        return Err(InputError::whole(message).hint(format!("load items: {}", listed(items))));
    }
    for case in plan.every_case_mut() {
        case.generators.clone_from(generators);
        case.workers = workers(&case.load, generators);
        can_be_there(case)?;
    }
    Ok(())
}

fn can_be_there(case: &CasePlan) -> Result<(), PlanError> {
    // Another client than kdyno's own is a program that is made ready on this host.
    if let Some((name, item)) = case.load.iter().find(|(_, item)| !item.driver.is_native()) {
        let (item, driver) = (quoted(name), quoted(&item.driver.label()));
        let message = format!("load item {item} is run by {driver}, which runs on this host alone");
        return Err(InputError::whole(message).hint("leave the generators out, or `driver` of its `client`"));
    }
    let is_idle = |place: usize| !case.workers.iter().any(|worker| usize::from(worker.worker) == place);
    let mut hosts = case.generators.hosts.iter().enumerate().filter(|_| !case.load.is_empty());
    match hosts.find(|(place, _)| is_idle(*place)) {
        None => Ok(()),
        Some((_, host)) => {
            let clients: u64 = case.load.values().map(|item| u64::from(item.clients)).sum();
            let message = format!("generator {} would run none of the {clients} clients", quoted(host));
            Err(InputError::whole(message).hint("give load items more `clients`, or name fewer generators"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_one_place_and_the_rest_take_turns() {
        let mut next = 0;
        assert_eq!(dealt(5, &[0, 1, 2], &mut next), [(0, 0, 2), (1, 2, 2), (2, 4, 1)]);
        assert_eq!(dealt(1, &[0, 1, 2], &mut next), [(2, 0, 1)]);
        assert_eq!(dealt(1, &[0, 1, 2], &mut next), [(0, 0, 1)]);
        assert_eq!(dealt(4, &[1, 2], &mut next), [(1, 0, 2), (2, 2, 2)]);
        assert_eq!(dealt(4, &[], &mut next), []);
        for clients in 0..40 {
            let all = dealt(clients, &[0, 1, 2, 3, 4, 5, 6], &mut next);
            let mut counted = 0;
            for (_, first, count) in all {
                assert_eq!(first, counted);
                counted += count;
            }
            assert_eq!(counted, clients);
        }
    }
}
