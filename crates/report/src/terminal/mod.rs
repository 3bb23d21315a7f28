//! Reports as text: before a run, during it, after a trial, at the end.

mod answer_text;
mod command_text;
mod component_text;
mod config_text;
mod course_text;
mod live;
mod live_view;
mod load_text;
mod picture;
mod plan_text;
mod question_text;
mod result_table;
mod run_table;
mod security_text;
mod summary;
mod trials_text;

pub use crate::grid::{SEQUENCES, TextOptions, clean};
pub use answer_text::look_text;
pub use config_text::config_text;
pub use live::{LiveState, live_line, live_line_of_pair};
pub use live_view::{LiveCourse, live_view, live_view_of_pair};
pub use plan_text::{PlanDetail, plan_text, settings_text};
pub use run_table::{PrintedOnce, run_table, trial_summary, trial_warnings};
pub use summary::{answer_alone, run_summary};

pub(crate) use answer_text::answer_text;
pub(crate) use run_table::{caveat_text, first_line, loss_first, loss_text};
pub(crate) use security_text::security_line;
pub(crate) use summary::caveats_in_short;
