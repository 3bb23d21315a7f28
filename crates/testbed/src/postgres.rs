//! PostgreSQL of this host's packages: found, laid out in a folder of its own, with its command line.
//!
//! The server is a process like any other's; what makes it a database is the command line that is made here. PostgreSQL
//! refuses to run as root, so root starts it as the user `postgres`, by `setpriv`, which also requests the death signal
//! again: a change of user takes it away. Its socket lies in a folder that only that user and root may enter; over TCP
//! it asks for a password that was made for it.

use crate::environment::{Environment, is_executable};
use crate::leftovers;
use crate::secret_file;
use crate::small_file;
use kdyno_model::plan::PostgresPlan;
use kdyno_model::secret::Secret;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Where Debian's packages lie, each major version in a folder of its number.
const PACKAGES: &str = "/usr/lib/postgresql";
/// The user that the packages make.
const USER: &str = "postgres";
/// The superuser of the databases that are made here.
pub const LOGIN: &str = "kdyno";
/// File of the data folder whose last line says whether the server is ready.
const STATUS_FILE: &str = "data/postmaster.pid";
/// How much of it is read.
const STATUS_BYTES_MAX: u64 = 4 << 10;

/// Makes the data and the database, then becomes the server: all in one process that is guarded.
const SCRIPT: &str = r#"set -eu
bin=$1 folder=$2 database=$3
shift 3
cd "$folder"
"$bin/initdb" --pgdata=data --username=kdyno --pwfile=password --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C --no-sync
rm -f password
printf 'CREATE DATABASE "%s";\n' "$database" | "$bin/postgres" --single -D data postgres
exec "$bin/postgres" -D data "$@"
"#;

/// A PostgreSQL that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresInstallation {
    /// Folder of its programs.
    pub programs: PathBuf,
    /// Major version.
    pub version: u32,
}

/// The requested version, or the newest that is installed.
///
/// # Errors
/// There is none, one lowercase clause.
pub fn find(version: Option<u32>) -> Result<PostgresInstallation, String> {
    find_in(Path::new(PACKAGES), version)
}

fn find_in(packages: &Path, version: Option<u32>) -> Result<PostgresInstallation, String> {
    let folders = std::fs::read_dir(packages).into_iter().flatten().flatten();
    let numbered = folders.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let programs = |version: u32| packages.join(version.to_string()).join("bin");
    let has_server = |version: &u32| {
        ["initdb", "postgres", "psql"].iter().all(|name| is_executable(&programs(*version).join(name)))
    };
    let mut all: Vec<u32> = numbered.filter(has_server).collect();
    all.sort_unstable();
    let found = match version {
        Some(version) => all.iter().find(|known| **known == version),
        None => all.last(),
    };
    match (found, version) {
        (Some(version), _) => Ok(PostgresInstallation { programs: programs(*version), version: *version }),
        (None, None) => Err(format!(
            "no PostgreSQL is installed beneath {} (`apt install postgresql`)",
            packages.display()
        )),
        (None, Some(version)) => {
            let known: Vec<String> = all.iter().map(ToString::to_string).collect();
            let known =
                if known.is_empty() { "none is".to_owned() } else { format!("{} is", known.join(", ")) };
            Err(format!("PostgreSQL {version} is not installed beneath {}: {known}", packages.display()))
        }
    }
}

/// Where a server is to run, and how it is reached.
pub struct PostgresOptions<'a> {
    /// Its folder, which is made; that of the socket too.
    pub folder: &'a Path,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The password of [`LOGIN`].
    pub password: &'a Secret,
}

/// Makes the folder of a server and gives the command line that makes its data and becomes the server.
///
/// # Errors
/// The folder cannot be made, or there is no user that it could run as: one lowercase clause.
pub fn lay_out(
    plan: &PostgresPlan,
    installed: &PostgresInstallation,
    place: &PostgresOptions<'_>,
    environment: &Environment,
) -> Result<Vec<String>, String> {
    let PostgresOptions { folder, port, password } = place;
    let failed = |error: std::io::Error| format!("its folder {} cannot be made: {error}", folder.display());
    DirBuilder::new().mode(0o700).create(folder).map_err(failed)?;
    let words = secret_file::write(folder, "password", password).map_err(|error| error.to_string())?;
    let mut line = as_other_user(folder, &words, environment)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    line.extend(["sh", "-c", SCRIPT, "kdyno-postgres"].map(str::to_owned));
    line.extend([text(&installed.programs), text(folder), plan.database.clone()]);
    let own = [
        ("port", port.to_string()),
        ("listen_addresses", "127.0.0.1".to_owned()),
        ("unix_socket_directories", text(folder)),
    ];
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let settings = plan.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in settings.chain(own) {
        line.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    Ok(line)
}

/// The words before a command line by which root becomes the user of the package, who is given the folder; none for others.
fn as_other_user(folder: &Path, password: &Path, environment: &Environment) -> Result<Vec<String>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Vec::new());
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let (user, group) = ids_of(&users, USER).ok_or_else(|| {
        format!("PostgreSQL does not run as root, and there is no user `{USER}` (`apt install postgresql` makes it)")
    })?;
    let setpriv = environment.find_program("setpriv").ok_or(
        "PostgreSQL does not run as root, and there is no `setpriv` in PATH (`apt install util-linux`)",
    )?;
    let_in(folder, user, group)?;
    if let Some(closed) = folder.ancestors().skip(1).find(|above| !may_enter(above, user, group)) {
        let above = closed.display();
        return Err(format!(
            "PostgreSQL does not run as root but as the user `{USER}`, who may not enter {above} \
             (`chmod o+x {above}`, or set TMPDIR to another folder)"
        ));
    }
    for path in [folder, password] {
        chown(path, Some(user), Some(group))
            .map_err(|error| format!("{} cannot be given to `{USER}`: {error}", path.display()))?;
    }
    let ids = [format!("--reuid={user}"), format!("--regid={group}")];
    let others = ["--clear-groups", "--inh-caps=-all", "--pdeathsig", "KILL", "--"];
    let program = setpriv.to_string_lossy().into_owned();
    Ok([program].into_iter().chain(ids).chain(others.map(str::to_owned)).collect())
}

/// Lets the user's group pass through the folders of the run around this one, which are closed to all others.
fn let_in(folder: &Path, user: u32, group: u32) -> Result<(), String> {
    let Some(outermost) = leftovers::claimed_around(folder) else { return Ok(()) };
    let around = folder.ancestors().skip(1).take_while(|above| above.starts_with(outermost));
    for above in around.filter(|above| !may_enter(above, user, group)) {
        let opened = chown(above, None, Some(group))
            .and_then(|()| std::fs::set_permissions(above, Permissions::from_mode(0o710)));
        opened.map_err(|error| format!("`{USER}` cannot be let into {}: {error}", above.display()))?;
    }
    Ok(())
}

/// Whether the user may pass through a folder.
fn may_enter(folder: &Path, user: u32, group: u32) -> bool {
    let Ok(found) = folder.metadata() else { return true };
    let bit = match (found.uid() == user, found.gid() == group) {
        (true, _) => 0o100,
        (false, true) => 0o010,
        (false, false) => 0o001,
    };
    Permissions::mode(&found.permissions()) & bit != 0
}

/// User's and group's number in the lines of `/etc/passwd`.
fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields =
        users.lines().map(|line| line.split(':')).find(|line| line.clone().next() == Some(name))?;
    let (user, group) = (fields.nth(2)?, fields.next()?);
    Some((user.parse().ok()?, group.parse().ok()?))
}

/// Whether the server whose folder this is says that it takes connections.
#[must_use]
pub fn is_ready(folder: &Path) -> bool {
    let read = small_file::read(&folder.join(STATUS_FILE), STATUS_BYTES_MAX);
    let text = String::from_utf8(read.unwrap_or_default()).unwrap_or_default();
    text.lines().last().is_some_and(|status| status.trim() == "ready")
}

/// What is asked once per second. `numbackends` would count the server's own workers too: autovacuum, parallel queries.
fn question(database: &str) -> String {
    format!(
        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend'), \
         xact_commit, xact_rollback FROM pg_stat_database WHERE datname = '{database}' \\watch 1\n"
    )
}

/// The command line that prints, once per second, how many connections clients have to a database and how many
/// transactions ended well and not: a line each, as [`Counted::of_line`] reads it. It stays one process with one
/// connection to another database.
///
/// # Errors
/// Its script cannot be written, one lowercase clause.
pub fn counting(
    installed: &PostgresInstallation,
    folder: &Path,
    port: u16,
    database: &str,
) -> Result<Vec<String>, String> {
    let script = folder.join("count.sql");
    std::fs::write(&script, question(database))
        .map_err(|error| format!("{} cannot be written: {error}", script.display()))?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut line = vec![text(&installed.programs.join("psql"))];
    line.extend(["-X", "-q", "-A", "-t", "-F", "|", "-d", "postgres", "-U", LOGIN, "-h"].map(str::to_owned));
    line.extend([text(folder), "-p".to_owned(), port.to_string(), "-f".to_owned(), text(&script)]);
    Ok(line)
}

/// What a database counted until an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Connections that clients have to it now.
    pub connections: u64,
    /// Transactions that were committed.
    pub committed: u64,
    /// Transactions that were rolled back.
    pub rolled_back: u64,
}

impl Counted {
    /// Reads a line of [`counting`]; other lines are none.
    #[must_use]
    pub fn of_line(line: &str) -> Option<Self> {
        let mut numbers = line.trim().split('|').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let found = Self { connections: next()?, committed: next()?, rolled_back: next()? };
        numbers.next().is_none().then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_taken_unless_one_is_named() {
        let temp = tempfile::tempdir().expect("temp");
        for (version, programs) in [
            ("9", &["initdb", "postgres", "psql"][..]),
            ("15", &["initdb", "postgres", "psql"]),
            ("17", &["psql"]),
        ] {
            let folder = temp.path().join(version).join("bin");
            std::fs::create_dir_all(&folder).expect("made");
            for program in programs {
                std::fs::write(folder.join(program), "").expect("written");
                std::fs::set_permissions(folder.join(program), Permissions::from_mode(0o755)).expect("set");
            }
        }
        let found = |version| find_in(temp.path(), version).map(|found| found.version);
        assert_eq!(found(None), Ok(15), "of 17 only the client is there");
        assert_eq!(found(Some(9)), Ok(9));
        let reported = found(Some(16)).expect_err("not there");
        assert!(
            reported.contains("PostgreSQL 16 is not installed") && reported.ends_with("9, 15 is"),
            "{reported}"
        );
        let reported = find_in(&temp.path().join("none"), None).expect_err("not there");
        assert!(reported.starts_with("no PostgreSQL is installed"), "{reported}");
    }

    #[test]
    fn lines_of_counts_differ_from_all_others() {
        let counted = Counted { connections: 3, committed: 1_000, rolled_back: 2 };
        assert_eq!(Counted::of_line("3|1000|2"), Some(counted));
        for line in ["", "3|1000", "3|1000|2|5", "psql: error: connection", "a|b|c", "-1|2|3"] {
            assert_eq!(Counted::of_line(line), None, "{line}");
        }
    }

    #[test]
    fn users_are_found_by_their_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(ids_of(users, "postgres"), Some((101, 104)));
        assert_eq!(ids_of(users, "post"), None);
        assert_eq!(ids_of("broken", "broken"), None);
    }

    #[test]
    fn a_server_is_ready_when_its_last_line_says_so() {
        let temp = tempfile::tempdir().expect("temp");
        assert!(!is_ready(temp.path()));
        std::fs::create_dir(temp.path().join("data")).expect("made");
        let write = |text: &str| std::fs::write(temp.path().join(STATUS_FILE), text).expect("written");
        write("1\n/data\n5\nstarting\n");
        assert!(!is_ready(temp.path()));
        write("1\n/data\n5\nready   \n");
        assert!(is_ready(temp.path()));
    }

    #[test]
    fn the_servers_user_alone_is_let_into_a_private_folder_of_a_run() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root starts the server as another user");
            return;
        }
        let temp = tempfile::tempdir().expect("temp");
        let mode_above = || temp.path().metadata().expect("there").permissions().mode();
        let before = mode_above();
        let run = temp.path().join("kdyno-run");
        crate::folder::create_private(&run).expect("made");
        leftovers::claim(&run);
        let folder = run.join("trial-1/database");
        std::fs::create_dir_all(&folder).expect("made");
        let (user, group) = (65534, 65534);
        assert!(!may_enter(&run, user, group));
        let_in(&folder, user, group).expect("let in");
        assert!(may_enter(&run, user, group) && !may_enter(&run, 65533, 65533), "the group and nobody else");
        assert_eq!(mode_above(), before, "not ours to open");
    }

    #[test]
    fn access_to_a_folder_follows_from_its_mode() {
        let temp = tempfile::tempdir().expect("temp");
        let mode = |mode| std::fs::set_permissions(temp.path(), Permissions::from_mode(mode)).expect("set");
        let own = temp.path().metadata().expect("there");
        mode(0o700);
        assert!(!may_enter(temp.path(), own.uid() + 1, own.gid() + 1));
        assert!(may_enter(temp.path(), own.uid(), own.gid() + 1));
        mode(0o701);
        assert!(may_enter(temp.path(), own.uid() + 1, own.gid() + 1));
    }
}
