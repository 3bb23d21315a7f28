//! What is wrong with a text somebody wrote, where, and what would be right.

use crate::synonyms;
pub use kdyno_model::words::{listed, nearest, quoted};

/// A place in a text, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TextPosition {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// What an error is about: it decides how a text is changed to look for further mistakes in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Several things do not go together: each of them may be the wrong one.
    #[default]
    Together,
    /// There is no such key; where one is near, the one that was meant.
    Key(Option<Box<str>>),
    /// A map lacks this key.
    Lacks(&'static str),
    /// A value is wrong whatever else the text says; where it is known, one that would do.
    Value(Option<Box<str>>),
}

/// The one error of scenarios, targets and `--set`: what failed, where, and what is allowed.
///
/// Prints as `file:line:column: message`; the hint is for a line of its own (`hint: …`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// Name of the text: a file's path, or `--set size=1`. Empty until [`InputError::in_file`].
    pub file: String,
    /// Where in it; none when the text as a whole is meant.
    pub place: Option<TextPosition>,
    /// One lowercase sentence.
    pub message: String,
    /// What to do instead.
    pub hint: Option<String>,
    /// What it is about.
    pub mistake: Mistake,
    /// The next mistake of the same text, where all are looked for at once.
    pub next: Option<Box<Self>>,
}

/// Most mistakes of one text that are reported.
pub const MISTAKES_MAX: usize = 30;

impl InputError {
    /// An error at a place of a text that is named later.
    pub fn at(place: TextPosition, message: impl Into<String>) -> Self {
        Self { place: Some(place), ..Self::whole(message) }
    }

    /// An error about a text as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        let message = message.into();
        let mistake = Mistake::Together;
        Self { file: String::new(), place: None, message, hint: None, mistake, next: None }
    }

    /// Mistakes of one text as one error, in their order; `None`: there is none. Of several at one place only the first is kept.
    pub fn of_all(mistakes: Vec<Self>) -> Option<Self> {
        let mut kept: Vec<Self> = Vec::new();
        for one in mistakes {
            if !kept.iter().any(|known| known.place.is_some() && known.place == one.place) {
                kept.push(one);
            }
        }
        kept.truncate(MISTAKES_MAX);
        kept.into_iter().rev().fold(None, |next, one| Some(Self { next: next.map(Box::new), ..one }))
    }

    /// Changes each of its mistakes.
    #[must_use]
    pub fn each(mut self, change: &dyn Fn(Self) -> Self) -> Self {
        let next = self.next.take().map(|next| Box::new(next.each(change)));
        Self { next, ..change(self) }
    }

    /// Adds what to do instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint when there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        if hint.is_some() {
            self.hint = hint;
        }
        self
    }

    /// Says what it is about.
    #[must_use]
    pub fn about(self, mistake: Mistake) -> Self {
        Self { mistake, ..self }
    }

    /// Says that the value is wrong whatever else the text says.
    #[must_use]
    pub fn of_value(self) -> Self {
        self.about(Mistake::Value(None))
    }

    /// Names the text, unless it has a name.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        self.each(&|mut one| {
            if one.file.is_empty() {
                one.file = file.to_owned();
            }
            one
        })
    }

    /// A known word that this version does not act on yet.
    pub fn later(place: TextPosition, what: &str, hint: &str) -> Self {
        let error = Self::at(place, format!("{what} is not in this version yet"));
        if hint.is_empty() { error } else { error.hint(hint) }
    }
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}:{}:{}: {}", self.file, place.line, place.column, self.message),
            None if self.file.is_empty() => f.write_str(&self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for InputError {}

/// The known name for a word: what it is called here, or what looks most like it.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    synonyms::meant(word, known.clone()).or_else(|| nearest(word, known))
}

/// A hint that names the known name that was meant, or all of them when none is near.
pub fn known_hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match meant(word, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match listed(known) {
            list if list.is_empty() => "there are none here".to_owned(),
            list => format!("allowed here: {list}"),
        },
    }
}

/// What is wrong with a word that is none of those allowed, which are listed; and a hint when one is near.
pub fn not_allowed(word: &str, allowed: &[&str]) -> (String, Option<String>) {
    // A line of a properties file may hold the next one, with its secret, if it ends in a backslash.
    let shown = match word.split_once([' ', '=']) {
        Some((first, _)) => quoted(&format!("{first} …")),
        None => quoted(word),
    };
    let message = format!("{shown} is none of {}", listed(allowed.iter().copied()));
    (message, meant(word, allowed.iter().copied()).map(|name| format!("did you mean `{name}`?")))
}
