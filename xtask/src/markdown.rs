//! What rules and the book read of a page of Markdown: its prose, its links and the anchors of its headings.

use std::collections::BTreeSet;

/// A link or a picture.
#[derive(Debug, PartialEq)]
pub struct Link {
    /// The line of its target, from 1.
    pub line: usize,
    /// Where it leads, as it is written.
    pub target: String,
}

impl Link {
    /// Path and anchor, each empty where the target has none; `None` of an address outside the repository.
    pub fn local(&self) -> Option<(&str, &str)> {
        let is_address = self.target.contains("://") || self.target.starts_with("mailto:");
        (!is_address).then(|| self.target.split_once('#').unwrap_or((&self.target, "")))
    }
}

/// Links, pictures and definitions of links; none of what is code.
pub fn links(text: &str) -> Vec<Link> {
    let prose = prose(text);
    let inline = prose.match_indices("](").map(|(at, _)| (at, target(&prose[at + 2..])));
    let defined = prose.match_indices("]: ").filter(|(at, _)| {
        let line = prose[..*at].rsplit('\n').next().unwrap_or_default();
        line.starts_with('[') && !line.starts_with("[^")
    });
    let defined = defined.map(|(at, _)| (at, prose[at + 3..].lines().next().unwrap_or_default()));
    let found = inline.chain(defined).map(|(at, inside)| Link {
        line: 1 + prose[..at].matches('\n').count(),
        target: first_word(inside).to_owned(),
    });
    found.collect()
}

/// What is between the parentheses of a link, up to the one that closes it.
fn target(rest: &str) -> &str {
    let mut depth = 0_u32;
    let end = rest.find(|c| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth == 0 => true,
        ')' => {
            depth -= 1;
            false
        }
        _ => false,
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// Without a title and the marks of an address.
fn first_word(inside: &str) -> &str {
    inside.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>'])
}

/// The anchors of a page's headings, by the rule of forges; mdBook has the same one.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for slug in headings(text).map(slug) {
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone()).chain(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// The texts of headings.
pub fn headings(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter_map(move |line| {
        in_block ^= is_fence(line);
        let words = line.trim_start_matches('#');
        let is_heading = !in_block && (1..=6).contains(&(line.len() - words.len()));
        words.strip_prefix(' ').filter(|_| is_heading)
    })
}

/// Small letters, digits, `_` and `-` stay, a blank is a `-`, of a link its text.
fn slug(heading: &str) -> String {
    let mut words = heading.trim().to_owned();
    while let Some(at) = words.find("](") {
        let end = at + 2 + target(&words[at + 2..]).len();
        words.replace_range(at..(end + 1).min(words.len()), "");
    }
    let kept = words.chars().flat_map(char::to_lowercase).filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
}

/// The path of a target from the root of the repository, where `page` refers to it; `None` where that is outside.
pub fn resolved(page: &str, target: &str) -> Option<String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(target.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    (!target.starts_with('/')).then(|| names.join("/"))
}

/// A page with its lines and without what is code: blocks between fences and spans between backticks.
pub fn prose(text: &str) -> String {
    let mut in_block = false;
    let lines = text.lines().map(|line| {
        in_block ^= is_fence(line);
        if in_block || is_fence(line) { "" } else { line }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let mut in_span = false;
        let keep = |c: &char| {
            in_span ^= *c == '`';
            !in_span || matches!(c, '`' | '\n')
        };
        paragraph.chars().filter(keep).collect::<String>()
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, String)> {
        links(text).into_iter().map(|link| (link.line, link.target)).collect()
    }

    #[test]
    fn links_are_found_wherever_they_are_in_prose() {
        let text = "# A\n[b](c.md), [long\ntext](d.md#e)\n\n![f](g.png \"h\") [i](j_(k).md) [`l`](<m.md>)\n\n[n]: o.md\n";
        let expected = [(2, "c.md"), (3, "d.md#e"), (5, "g.png"), (5, "j_(k).md"), (5, "m.md"), (7, "o.md")];
        assert_eq!(targets(text), expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn code_has_no_links() {
        assert!(targets("`[a](b)`\n\n```\n[a](b)\n```\n\na[b]: c\n").is_empty());
    }

    #[test]
    fn anchors_are_those_of_forges() {
        let text = "# The `life` of a record: t0–t6!\n## A [link](b.md#c), here\n## Same\n## Same\n```\n# no\n```\n#no\n\
                    ## 20 ms_or-less\n####### no\n";
        let expected = ["the-life-of-a-record-t0t6", "a-link-here", "same", "same-1", "20-ms_or-less"]
            .map(str::to_owned);
        assert_eq!(anchors(text), BTreeSet::from(expected));
    }

    #[test]
    fn targets_are_resolved_from_their_page() {
        for (page, target, expected) in [
            ("README.md", "docs/a.md", Some("docs/a.md")),
            ("docs/guide/a.md", "../b.md", Some("docs/b.md")),
            ("docs/a.md", "./b.png", Some("docs/b.png")),
            ("docs/a.md", "../../b.md", None),
            ("docs/a.md", "/b.md", None),
        ] {
            assert_eq!(resolved(page, target).as_deref(), expected, "{page} {target}");
        }
    }

    #[test]
    fn addresses_are_not_local() {
        let local = |target: &str| Link { line: 1, target: target.to_owned() }.local().is_some();
        assert!(local("a.md") && local("#b"));
        assert!(!local("https://example.org/a#b") && !local("mailto:a@example.org"));
    }
}
