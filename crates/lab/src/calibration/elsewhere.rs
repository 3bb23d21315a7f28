//! What other hosts that carry load can do: each is measured with its own part of the clients, against a null broker next to its
//! worker, and all at once, as in the run. It is measured in each run: what else such a host does is not known here.

use super::{Bench, Limits, SHAPES_MAX, Shape, against, partitions, shapes, tls_of};
use crate::error::LabError;
use crate::generator::{Generators, TrialPlaces};
use crate::given::GivenContents;
use crate::observer::MayGoOn;
use crate::options::{RunOptions, RunProgress};
use kdyno_model::plan::Plan;

/// Measures the hosts before any cluster runs. What cannot be measured is reported and left out.
///
/// # Errors
/// The run is to end, or a host is not reached.
pub(crate) fn measure(
    plan: &Plan,
    generators: &Generators,
    may_go_on: &MayGoOn,
    given: &GivenContents,
    options: &mut RunOptions<'_>,
) -> Result<Limits, LabError> {
    let mut limits = Limits::default();
    let shapes = shapes(plan);
    let Some(first) = shapes.first() else { return Ok(limits) };
    let places = generators.open(first.case, options.progress)?;
    for (at, shape) in (0..).zip(&shapes) {
        if let Some(stop) = may_go_on.must_end() {
            return Err(stop.into());
        }
        (options.progress)(RunProgress::Step("measuring what the load generators can do …".to_owned()));
        let mut is_known = true;
        for (host, measured) in of_shape(&places, (at, shape), given, options)? {
            match measured {
                Ok(max_per_s) => {
                    let of_host = limits.elsewhere.entry(host).or_default();
                    of_host.entry(shape.key.clone()).or_default().insert(shape.item.clients, max_per_s);
                }
                Err(why) => {
                    let words = format!("what generator {host} can do is not known: {why}");
                    (options.progress)(RunProgress::Step(words));
                    is_known = false;
                }
            }
        }
        if !is_known {
            break;
        }
    }
    Ok(limits)
}

/// Records/s that a host can do, or why that is not known.
type OfGenerator = (String, Result<f64, String>);

/// One measurement on each of its hosts.
fn of_shape(
    places: &TrialPlaces,
    (at, shape): (u16, &Shape<'_>),
    given: &GivenContents,
    options: &RunOptions<'_>,
) -> Result<Vec<OfGenerator>, LabError> {
    let (case, item) = (shape.case, &shape.item);
    let t0_ahead_ns = places.t0_ahead_ns()?;
    // A session takes each number once, and the log of each worker has a name of its own.
    let most = u16::try_from(SHAPES_MAX).unwrap_or(u16::MAX);
    Ok(places.on_each(&shape.hosts, &options.work_dir, |worker, place| {
        let broker = place.null_broker(partitions(case, item), tls_of(case).unwrap_or_default())?;
        let number = worker.saturating_mul(most).saturating_add(at);
        let bench = Bench { place, number, t0_ahead_ns };
        against((broker.address.as_str(), &broker.security), &bench, (case, item), given)
    }))
}
