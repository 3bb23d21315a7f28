//! `kdyno clean`: topics that runs left on a target's cluster.

use crate::cli::CleanArgs;
use crate::failure::{CommandResult, Exit};
use crate::out;
use crate::target_source::read_target;
use kdyno_scenario::target::Target;
use kdyno_testbed::clean;

/// Lists the leftovers; deletes them on request.
pub(crate) fn clean(args: &CleanArgs) -> CommandResult {
    let Target { attached: target, secrets, .. } = read_target(&args.target)?;
    let access = kdyno_lab::access(&target, &secrets, &|name| std::env::var_os(name))?;
    let topics = clean::find(&target, &access, None)?;
    if topics.is_empty() {
        out::note(&format!("no topic of ours is on {}", target.target));
        return Ok(Exit::Done);
    }
    out::text(topics.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    if args.yes {
        clean::delete(&target, &access, &topics)?;
        out::note(&format!("{} topics deleted", topics.len()));
    } else {
        out::note("--yes deletes them; a run that is still going on needs its own");
    }
    Ok(Exit::Done)
}
