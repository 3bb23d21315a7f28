//! What is behind each address.

use super::library::Library;
use crate::cli::ExportFormat;
use crate::commands::{export, runs, stored_runs};
use crate::evidence::{RunEvidence, file_name};
use crate::failure::{Exit, Failure};
use crate::moment;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use clap::ValueEnum;
use kdyno_model::metric::Address;
use kdyno_report::course::{self, CourseRun};
use kdyno_report::html::served::{self, CoursePage, ListPage, ListedRun};
use kdyno_report::judged::RunAnswer;
use kdyno_report::side_by_side;
use kdyno_store::RunSummary;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Pages that are made at once: each may hold a run file's rows in memory.
const PAGES_AT_ONCE: usize = 2;
/// Newest runs of a scenario in its chart.
const COURSE_RUNS_MAX: usize = 200;
/// A page of a run that goes on is made again after this at the earliest.
const RELOAD_MIN: Duration = Duration::from_secs(5);
/// Making it takes this share of a core at most: one part in so many.
const RELOAD_SHARE: u32 = 100;

/// What the handlers share.
#[derive(Debug)]
pub(super) struct Site {
    library: Library,
    places: Semaphore,
}

impl Site {
    pub(super) fn new(library: Library) -> Self {
        Self { library, places: Semaphore::new(PAGES_AT_ONCE) }
    }

    /// Reads the folder before anybody asks: of a thousand runs that takes longer than each list after it.
    pub(super) fn read_ahead(&self) {
        // What is wrong with it is returned to the client.
        let _ = self.library.list();
    }
}

/// What an address comes to.
#[derive(Debug)]
pub(super) enum PageResponse {
    /// A page.
    Page(String),
    /// The page of a run that goes on, with when to ask for it again.
    Live(String, Duration),
    /// A file to be kept: its name, its type, what it holds.
    File(String, &'static str, Vec<u8>),
    /// There is nothing there, and why.
    Nothing(String),
    /// It is not returned to the client.
    Refused(String),
    /// It could not be made.
    Failed(Failure),
}

impl IntoResponse for PageResponse {
    fn into_response(self) -> Response {
        let page = |status: StatusCode, message: &str, hint: &str| {
            (status, Html(served::failure(message, hint))).into_response()
        };
        match self {
            Self::Page(text) => Html(text).into_response(),
            Self::Live(text, again) => {
                let reload = (HeaderName::from_static("refresh"), again.as_secs().to_string());
                ([reload], Html(text)).into_response()
            }
            Self::File(name, kind, content) => {
                // Names in the folder may hold anything; a header may not.
                let name: String =
                    name.chars().filter(|c| c.is_ascii_graphic() && !"\"\\;".contains(*c)).collect();
                let disposition = format!("attachment; filename=\"{name}\"");
                (
                    [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)],
                    content,
                )
                    .into_response()
            }
            Self::Nothing(why) => page(StatusCode::NOT_FOUND, &why, ""),
            Self::Refused(why) => page(StatusCode::FORBIDDEN, &why, ""),
            Self::Failed(failure) => {
                let status = match failure.exit {
                    Exit::Usage => StatusCode::BAD_REQUEST,
                    _ => StatusCode::INTERNAL_SERVER_ERROR,
                };
                page(status, &failure.message, failure.hint.as_deref().unwrap_or_default())
            }
        }
    }
}

impl From<Failure> for PageResponse {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Makes a page on a thread that may block.
async fn made(
    site: Arc<Site>,
    make: impl FnOnce(&Site) -> Result<PageResponse, PageResponse> + Send + 'static,
) -> PageResponse {
    // It is never closed.
    let _place = site.places.acquire().await;
    let by = Arc::clone(&site);
    match tokio::task::spawn_blocking(move || make(&by)).await {
        Ok(found) => found.unwrap_or_else(|other| other),
        Err(_) => PageResponse::Failed(Failure::tool("a defect of kdyno: the page could not be made")),
    }
}

/// What follows the question mark of an address; of a name that occurs twice the last.
type PageQuery = Query<HashMap<String, String>>;

/// All runs.
pub(super) async fn list(State(site): State<Arc<Site>>, Query(asked): PageQuery) -> PageResponse {
    made(site, move |site| {
        let list = site.library.list().map_err(Failure::from)?;
        let of = |name: &str| asked.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let chosen = of("a");
        if let Some(name) = chosen {
            stored(site, name)?;
        }
        let listed: Vec<ListedRun> =
            list.runs.iter().map(|run| listed(run, site.library.answer(&run.path))).collect();
        let unreadable = list.unreadable.iter().map(|(path, why)| (file_name(path), why.to_string()));
        let unreadable: Vec<(String, String)> = unreadable.collect();
        let searched = of("q").unwrap_or_default();
        Ok(PageResponse::Page(served::list(&ListPage {
            runs: &listed,
            unreadable: &unreadable,
            searched,
            chosen,
        })))
    })
    .await
}

fn listed(run: &RunSummary, answer: Option<RunAnswer>) -> ListedRun {
    ListedRun {
        file: file_name(&run.path),
        started: moment::readable(run.started_unix_ns),
        scenario: run.scenario.clone(),
        profile: run.profile.clone(),
        differs: runs::differs(run),
        trials: runs::trials(run),
        status: runs::status(run, answer),
        is_live: run.end.is_none() && run.live,
    }
}

/// A run by its file's name.
fn stored(site: &Site, name: &str) -> Result<RunSummary, PageResponse> {
    let run = site.library.file(name).map_err(Failure::from)?;
    run.ok_or_else(|| PageResponse::Nothing(format!("there is no run {name} in this folder")))
}

/// A run's page.
pub(super) async fn run(State(site): State<Arc<Site>>, Path(file): Path<String>) -> PageResponse {
    made(site, move |site| {
        let run = stored(site, &file)?;
        let began = Instant::now();
        let evidence = RunEvidence::read_with_stacks(&run.path)?;
        let page = served::run(&evidence.input());
        if run.end.is_none() && run.live {
            return Ok(PageResponse::Live(page, RELOAD_MIN.max(began.elapsed() * RELOAD_SHARE)));
        }
        Ok(PageResponse::Page(page))
    })
    .await
}

/// Two runs against each other.
pub(super) async fn compare(State(site): State<Arc<Site>>, Query(mut asked): PageQuery) -> PageResponse {
    let (Some(a), Some(b)) = (asked.remove("a"), asked.remove("b")) else {
        return PageResponse::Nothing("two runs are compared: /compare?a=FILE&b=FILE".to_owned());
    };
    made(site, move |site| {
        let read = |name: &str| -> Result<_, PageResponse> {
            let path = stored(site, name)?.path;
            let evidence = RunEvidence::read_judged(&path)?;
            Ok(vec![(path, evidence)])
        };
        let groups = [read(&a)?, read(&b)?];
        let runs = groups.iter().flatten();
        let runs: Vec<CourseRun<'_>> =
            runs.map(|(path, run)| CourseRun { file: file_name(path), input: run.input() }).collect();
        let side_by_side = side_by_side::table(&runs);
        let page =
            stored_runs::against(&groups, |document| served::comparison(document, &side_by_side, [&a, &b]));
        Ok(PageResponse::Page(page?.0))
    })
    .await
}

/// A metric over the runs of a scenario.
pub(super) async fn course(State(site): State<Arc<Site>>, Query(mut asked): PageQuery) -> PageResponse {
    let Some(scenario) = asked.remove("scenario") else {
        return PageResponse::Nothing(
            "a course is of a scenario's runs: /course?scenario=NAME&of=METRIC".to_owned(),
        );
    };
    made(site, move |site| {
        let all = site.library.list().map_err(Failure::from)?.runs;
        let of_scenario: Vec<RunSummary> = all.into_iter().filter(|run| run.scenario == scenario).collect();
        let newest = &of_scenario[of_scenario.len().saturating_sub(COURSE_RUNS_MAX)..];
        let read = |run: &RunSummary| Ok((file_name(&run.path), RunEvidence::read_judged(&run.path)?));
        let read = newest.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        if read.is_empty() {
            return Err(PageResponse::Nothing(format!("there is no run of {scenario} in this folder")));
        }
        let runs = read.iter().map(|(file, run)| CourseRun { file: file.clone(), input: run.input() });
        let runs: Vec<CourseRun<'_>> = runs.collect();
        let known: Vec<String> = stored_runs::metrics(&runs).into_iter().collect();
        let typed = asked.get("of").map_or("", |of| of.trim());
        let table = Address::parse(typed).map(|of| course::table(&of, &runs));
        Ok(PageResponse::Page(served::course(&CoursePage {
            of: typed,
            scenario: &scenario,
            known: &known,
            course: table.as_ref().filter(|table| table.has_figures()),
        })))
    })
    .await
}

/// A run in a form of `kdyno export`.
pub(super) async fn export(
    State(site): State<Arc<Site>>,
    Path((format, file)): Path<(String, String)>,
) -> PageResponse {
    made(site, move |site| {
        let nothing = || PageResponse::Nothing(format!("runs are not exported as {format} here"));
        let format_of = ExportFormat::from_str(&format, false).map_err(|_| nothing())?;
        let (ending, kind) = match format_of {
            ExportFormat::Json => ("json", "application/json"),
            ExportFormat::Csv => ("csv", "text/csv; charset=utf-8"),
            ExportFormat::SeriesCsv => ("series.csv", "text/csv; charset=utf-8"),
            ExportFormat::Markdown => ("md", "text/markdown; charset=utf-8"),
            ExportFormat::Junit => ("xml", "application/xml"),
            ExportFormat::SeriesParquet => ("parquet", "application/vnd.apache.parquet"),
            ExportFormat::Hlog
            | ExportFormat::Flame
            | ExportFormat::Collapsed
            | ExportFormat::Jfr
            | ExportFormat::Kubernetes
            | ExportFormat::Scenario => {
                return Err(nothing());
            }
        };
        let run = stored(site, &file)?;
        let content = export::of_evidence(&RunEvidence::read(&run.path)?, format_of)?;
        let stem = run.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(PageResponse::File(format!("{stem}.{ending}"), kind, content))
    })
    .await
}
