//! Test 18 of docs/METHOD.md: curves of known crossing.

use crate::simulate::{Curve, Noise, TRUTH, search, settings};
use kdyno_analysis::search::line::interval;
use kdyno_analysis::search::{End, Stage};
use rand::SeedableRng;
use rand_pcg::Pcg64;

#[test]
fn table() {
    let n: usize = std::env::var("N").map_or(400, |n| n.parse().unwrap());
    for (name, make) in [("straight", Curve::Straight as fn(f64) -> Curve), ("queue", Curve::Queue)] {
        for slope in [1.8, 4.0, 10.0] {
            for sd in [0.1, 0.2, 0.4] {
                let mut random = Pcg64::seed_from_u64(20_261_122);
                let (mut errors, mut covered, mut wide, mut none, mut trials, mut flagged) = (vec![], 0, 0.0, 0, vec![], 0);
                let (mut confirmed, mut at, mut rounds, mut whole) = (0, 0.0, 0, 0);
                for one in 0..n {
                    let settings = settings(&mut random, 3);
                    let noise = Noise { sd, disturbed: 0.05 };
                    let curve = make(slope);
                    let (points, found) = search(&settings, |stage, load| noise.reading(curve, stage, load, &mut random));
                    let searched = points.iter().filter(|p| p.stage != Stage::Confirm).count();
                    whole += points.iter().filter(|p| p.stage == Stage::Bisect).count();
                    trials.push(searched);
                    rounds += points.len() - searched;
                    flagged += usize::from(!found.inversions.is_empty());
                    if let End::Confirmed(load) = found.end { confirmed += 1; at += (load / TRUTH).ln(); }
                    let Some(line) = &found.line else { none += 1; if std::env::var("T").is_ok() && none < 3 { println!("NONE {name} {slope} {sd} {:?}", found.end); for p in &points { println!("   {:?} {:8.4} {:?}", p.stage, p.load_per_s/TRUTH, p.reading) } } continue };
                    if std::env::var("T").is_ok() && (line.crossing - TRUTH.ln()).abs() > 5.0*sd/slope/2.0 { println!("FAR {name} {slope} {sd} {:?} {line:?}", found.end); for p in &points { println!("   {:?} {:8.4} {:?}", p.stage, p.load_per_s/TRUTH, p.reading) } }
                    errors.push(line.crossing - TRUTH.ln());
                    let pts = kdyno_analysis::search::fit_points(&points);
                    if let Some((low, high)) = interval(&pts, line, one as u64) {
                        covered += usize::from(low <= TRUTH.ln() && TRUTH.ln() <= high);
                        wide += (high - low) / 2.0;
                    }
                }
                let m = errors.len() as f64;
                let bias = errors.iter().sum::<f64>() / m;
                let var = (errors.iter().map(|e| (e - bias).powi(2)).sum::<f64>() / m).sqrt();
                let mut abs: Vec<f64> = errors.iter().map(|e| (e-bias).abs()).collect();
                abs.sort_by(f64::total_cmp);
                println!("{name:9} b {slope:4} sd {sd}: bias {:6.2}% sd {:5.2}% (mad-sd {:5.2}) none {none} covered {:5.1}% half {:4.1}% trials {:.1} max {} whole {:.1} flagged {flagged} confirmed {:5.1}% at {:6.2}% rounds {:.1}",
                    bias*100.0, var*100.0, abs[abs.len()/2]*148.26, 100.0*covered as f64/m, 100.0*wide/m,
                    trials.iter().sum::<usize>() as f64/n as f64, trials.iter().max().unwrap(), whole as f64/n as f64,
                    100.0*confirmed as f64/n as f64, 100.0*at/confirmed as f64, rounds as f64/n as f64);
            }
        }
    }
}
