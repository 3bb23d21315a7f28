//! `ssl.*` of a Java client.

use super::PropertiesReader;
use crate::input::{InputError, listed, quoted};
use kdyno_model::plan::{Store, StoreContent, Tls, TlsVersion};
use std::path::Path;

/// Names of the settings of a store.
struct StoreNames {
    kind: &'static str,
    location: &'static str,
    password: &'static str,
    /// PEM text instead of a file.
    certificates: &'static str,
}

const TRUST: StoreNames = StoreNames {
    kind: "ssl.truststore.type",
    location: "ssl.truststore.location",
    password: "ssl.truststore.password",
    certificates: "ssl.truststore.certificates",
};
const IDENTITY: StoreNames = StoreNames {
    kind: "ssl.keystore.type",
    location: "ssl.keystore.location",
    password: "ssl.keystore.password",
    certificates: "ssl.keystore.certificate.chain",
};
const KEY: &str = "ssl.keystore.key";
const KEY_PASSWORD: &str = "ssl.key.password";
const VERSIONS: &str = "ssl.enabled.protocols";
const NEWEST_VERSION: &str = "ssl.protocol";
const HOSTNAME_CHECK: &str = "ssl.endpoint.identification.algorithm";

/// First bytes of the stores that only Java reads, and how it calls these.
const JAVAS_OWN: &[(&[u8], &str)] = &[(&[0xfe, 0xed, 0xfe, 0xed], "JKS"), (&[0xce; 4], "JCEKS")];
/// A DER sequence, which a PKCS#12 store is.
const SEQUENCE: u8 = 0x30;

impl PropertiesReader<'_> {
    pub(super) fn tls(&mut self) -> Result<Tls, InputError> {
        Ok(Tls {
            trust: self.trust()?,
            identity: self.identity()?,
            hostname_check: self.hostname_check()?,
            versions: self.versions()?,
            ciphers: self
                .list("ssl.cipher.suites")
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

    fn hostname_check(&self) -> Result<bool, InputError> {
        match self.text(HOSTNAME_CHECK) {
            None => Ok(true),
            Some("") => Ok(false),
            Some(word) if word.eq_ignore_ascii_case("https") => Ok(true),
            Some(other) => {
                let message = format!("`{HOSTNAME_CHECK}`: {} is neither `https` nor empty", quoted(other));
                Err(self.wrong(HOSTNAME_CHECK, message))
            }
        }
    }

    /// As with Kafka's clients: with `ssl.protocol` TLSv1.2 no newer one is spoken, though it is enabled.
    fn versions(&mut self) -> Result<Vec<TlsVersion>, InputError> {
        let mut found = self.enabled_versions()?;
        let Some(typed) = self.text(NEWEST_VERSION) else { return Ok(found) };
        let is = |name: &str| typed.eq_ignore_ascii_case(name);
        let is_newest = is("TLSv1.3") || is("TLS");
        found.retain(|version| is_newest || *version == TlsVersion::Tls12);
        if (is_newest || is("TLSv1.2")) && !found.is_empty() {
            return Ok(found);
        }
        let message = format!("`{NEWEST_VERSION}`: with {} no version of TLS is left", quoted(typed));
        let hint = format!("leave it out: `{VERSIONS}` says which versions are supported");
        Err(self.wrong(NEWEST_VERSION, message).hint(hint))
    }

    /// Java's protocols that are too old are left out where others are there.
    fn enabled_versions(&mut self) -> Result<Vec<TlsVersion>, InputError> {
        let Some(typed) = self.list(VERSIONS) else { return Ok(TlsVersion::ALL.to_vec()) };
        let (mut found, mut left_out) = (Vec::new(), Vec::new());
        for name in typed {
            match name.parse::<TlsVersion>() {
                Ok(version) if !found.contains(&version) => found.push(version),
                Ok(_) => {}
                Err(_) => left_out.push(name),
            }
        }
        let spoken = listed(TlsVersion::NAMES.iter().copied());
        if found.is_empty() {
            let message = format!("`{VERSIONS}` names no version of TLS that is supported");
            return Err(self.wrong(VERSIONS, message).hint(format!("supported are {spoken}")));
        }
        if !left_out.is_empty() {
            let names = left_out.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
            self.found.notes.push(format!("`{VERSIONS}`: {names} is not supported, only {spoken}"));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn trust(&mut self) -> Result<Option<Store>, InputError> {
        if self.text(TRUST.certificates).is_some() {
            self.only_pem(&TRUST, TRUST.certificates)?;
            self.no_password(&TRUST, TRUST.certificates)?;
            return Ok(Some(self.pem_text(&TRUST, None)));
        }
        let Some(location) = self.text(TRUST.location) else {
            return match self.text(TRUST.password) {
                None => Ok(None),
                Some(_) => Err(self.lacks(TRUST.password, TRUST.location)),
            };
        };
        let content = self.file_content(&TRUST, location)?;
        if matches!(content, StoreContent::PemFile(_)) {
            self.no_password(&TRUST, "a PEM file")?;
        }
        let password = self.secret(TRUST.password)?;
        Ok(Some(Store { content, password, key_password: None }))
    }

    fn identity(&mut self) -> Result<Option<Store>, InputError> {
        match (self.text(KEY), self.text(IDENTITY.certificates)) {
            (None, Some(_)) => return Err(self.lacks(IDENTITY.certificates, KEY)),
            (Some(_), None) => return Err(self.lacks(KEY, IDENTITY.certificates)),
            (Some(_), Some(_)) => {
                self.only_pem(&IDENTITY, KEY)?;
                self.no_password(&IDENTITY, KEY)?;
                let key = self.secret(KEY)?;
                let key_password = self.secret(KEY_PASSWORD)?;
                return Ok(Some(Store { key_password, ..self.pem_text(&IDENTITY, key) }));
            }
            (None, None) => {}
        }
        let Some(location) = self.text(IDENTITY.location) else {
            return match self.text(IDENTITY.password) {
                None => Ok(None),
                Some(_) => Err(self.lacks(IDENTITY.password, IDENTITY.location)),
            };
        };
        let content = self.file_content(&IDENTITY, location)?;
        if matches!(content, StoreContent::PemFile(_)) {
            self.no_password(&IDENTITY, "a PEM file")?;
        } else if self.text(IDENTITY.password).is_none() {
            return Err(self.lacks(IDENTITY.location, IDENTITY.password));
        }
        let password = self.secret(IDENTITY.password)?;
        let key_password = self.secret(KEY_PASSWORD)?;
        Ok(Some(Store { content, password, key_password }))
    }

    fn lacks(&self, one: &str, other: &str) -> InputError {
        self.wrong(one, format!("`{one}` is there, but not `{other}`"))
    }

    fn is_pem(&self, names: &StoreNames) -> bool {
        self.text(names.kind) == Some("PEM")
    }

    /// Java ends a value with its line, as long as that has no `\` at its end: of PEM text the first line is left.
    fn whole_pem(&self, name: &str) -> Result<(), InputError> {
        let text = self.text(name).unwrap_or_default();
        if !text.starts_with("-----BEGIN ") || !text.ends_with("-----") || text.contains("-----END ") {
            return Ok(());
        }
        let message = format!("`{name}` ends after the first line of its PEM text");
        Err(self.wrong(name, message).hint("end each of its lines but the last with a blank and a `\\`"))
    }

    /// PEM text needs its type, and no additional file.
    fn only_pem(&self, names: &StoreNames, name: &str) -> Result<(), InputError> {
        if !self.is_pem(names) {
            let message = format!("`{name}` needs `{}=PEM`", names.kind);
            return Err(self.wrong(name, message));
        }
        self.whole_pem(name)?;
        self.whole_pem(names.certificates)?;
        match self.text(names.location) {
            None => Ok(()),
            Some(_) => {
                let message = format!("both `{name}` and `{}` are there", names.location);
                Err(self.wrong(names.location, message).hint("leave one of them out"))
            }
        }
    }

    /// PEM has no password but that of a key.
    fn no_password(&self, names: &StoreNames, of: &str) -> Result<(), InputError> {
        match self.text(names.password) {
            None => Ok(()),
            Some(_) => {
                let message = format!("`{}` has no meaning with {of}", names.password);
                Err(self
                    .wrong(names.password, message)
                    .hint(format!("leave it out; what opens an encrypted key is `{KEY_PASSWORD}`")))
            }
        }
    }

    fn pem_text(&self, names: &StoreNames, key: Option<String>) -> Store {
        let certificates = self.text(names.certificates).unwrap_or_default().to_owned();
        Store { content: StoreContent::Pem { certificates, key }, password: None, key_password: None }
    }

    /// What a store's file is: as its type says, and as its first bytes do, for Java itself reads PKCS#12 where the
    /// type is left at JKS.
    fn file_content(&self, names: &StoreNames, location: &str) -> Result<StoreContent, InputError> {
        let at = |message: String| self.wrong(names.location, message);
        let path = Path::new(location);
        let head = (self.file.head)(path).map_err(|why| {
            at(format!("`{}`: {location} {why}", names.location)).hint(
                "a path that does not begin with `/` begins in the current folder, as with Kafka's tools",
            )
        })?;
        let kind = self.text(names.kind).unwrap_or("JKS");
        let javas_own = JAVAS_OWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
        if self.is_pem(names) {
            return match javas_own.is_some() || head.first() == Some(&SEQUENCE) {
                true => {
                    Err(at(format!("{location} is no PEM file")).hint("correct its type, or its location"))
                }
                false => Ok(StoreContent::PemFile(path.to_owned())),
            };
        }
        if let Some(own) = javas_own {
            let message = format!("{location} is a {own} store, which only Java reads");
            return Err(at(message).hint(conversion(names, location, own)));
        }
        if head.starts_with(b"-----BEGIN") {
            let message = format!("{location} is a PEM file, but `{}` is {}", names.kind, quoted(kind));
            return Err(at(message).hint(format!("write `{}=PEM`", names.kind)));
        }
        let known = ["JKS", "PKCS12"].iter().any(|known| kind.eq_ignore_ascii_case(known));
        if !known {
            let message = format!("`{}`: {} is none of `JKS`, `PKCS12`, `PEM`", names.kind, quoted(kind));
            return Err(self.wrong(names.kind, message));
        }
        if head.first() == Some(&SEQUENCE) {
            return Ok(StoreContent::Pkcs12File(path.to_owned()));
        }
        Err(at(format!("{location} is neither a PKCS#12 store nor a PEM file")))
    }
}

/// The line that makes a PKCS#12 store of one that only Java reads. It asks for the passwords.
fn conversion(names: &StoreNames, location: &str, own: &str) -> String {
    let stem = [".jks", ".jceks", ".keystore", ".truststore"]
        .iter()
        .find_map(|ending| location.strip_suffix(ending));
    let made = format!("{}.p12", stem.unwrap_or(location));
    let quote = |path: &str| match path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%".contains(c)) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    format!(
        "`keytool -importkeystore -srckeystore {} -srcstoretype {own} -destkeystore {} -deststoretype PKCS12` makes a \
         PKCS#12 store of it; then `{}={made}` and `{}=PKCS12`",
        quote(location),
        quote(&made),
        names.location,
        names.kind,
    )
}
