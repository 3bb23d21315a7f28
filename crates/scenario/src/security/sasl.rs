//! `sasl.*` of a Java client.

use super::PropertiesReader;
use crate::input::{InputError, listed, not_allowed, quoted};
use kdyno_model::jaas::{self, LoginModule};
use kdyno_model::plan::{Mechanism, Sasl, ScramHash};
use kdyno_model::secret::SecretRef;
use std::collections::BTreeMap;
use std::path::PathBuf;

const MECHANISM: &str = "sasl.mechanism";
const JAAS: &str = "sasl.jaas.config";
const TOKEN_URL: &str = "sasl.oauthbearer.token.endpoint.url";
/// Option of ours in addition to those of Java's OAuthBearerLoginModule: the token itself.
const TOKEN: &str = "token";
/// Begins the names of options that are SASL extensions.
const EXTENSION: &str = "extension_";
const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";
const BEARER: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule";
const LOGIN_MODULES: [&str; 3] = [PLAIN, SCRAM, BEARER];
const TOKEN_HINT: &str = "write `token=\"${TOKEN}\"` into `sasl.jaas.config`, and in the target's `client` \
                          `secrets: {TOKEN: {exec: [COMMAND, …]}}`; managed clusters give such tokens for their IAM";

impl PropertiesReader<'_> {
    pub(super) fn sasl(&mut self) -> Result<Sasl, InputError> {
        let Some(mechanism) = self.text(MECHANISM) else {
            let message = format!("`{MECHANISM}` is missing, for which Kafka's clients take GSSAPI");
            return Err(InputError::whole(message).hint(spoken()));
        };
        match mechanism.parse() {
            Ok(Mechanism::Plain) => {
                let module = self.login_module(&[PLAIN, SCRAM])?;
                let (username, password) = self.user(&module)?;
                Ok(Sasl::Plain { username, password })
            }
            Ok(Mechanism::ScramSha256) => self.scram(ScramHash::Sha256),
            Ok(Mechanism::ScramSha512) => self.scram(ScramHash::Sha512),
            Ok(Mechanism::OauthBearer) => self.bearer(),
            Err(_) => {
                let (message, hint) = not_allowed(mechanism, Mechanism::NAMES);
                Err(self.wrong(MECHANISM, format!("`{MECHANISM}`: {message}")).maybe_hint(hint))
            }
        }
    }

    /// Refuses mechanisms that Java clients speak and kdyno does not.
    pub(super) fn no_foreign_mechanism(&self) -> Result<(), InputError> {
        let hint = match self.text(MECHANISM) {
            Some("GSSAPI") => spoken(),
            Some("AWS_MSK_IAM") => format!("use `OAUTHBEARER`: {TOKEN_HINT}"),
            _ => return Ok(()),
        };
        let mechanism = self.text(MECHANISM).unwrap_or_default();
        Err(self.wrong(MECHANISM, format!("`{MECHANISM}` {mechanism} is not supported here")).hint(hint))
    }

    /// As in Java: SCRAM is spoken where its login module is, and so are tokens; PLAIN takes user and password of either.
    fn login_module(&self, of_mechanism: &[&str]) -> Result<LoginModule, InputError> {
        let Some(text) = self.text(JAAS) else {
            let message = format!("`{JAAS}` is missing: it has the login");
            return Err(self.wrong(MECHANISM, message).hint(
                "the content of a file for `java.security.auth.login.config` goes there, from the class of the login \
                 module to its `;`",
            ));
        };
        let module = jaas::parse(text).map_err(|error| {
            let hint = Some(error.hint).filter(|hint| !hint.is_empty()).map(str::to_owned);
            self.wrong(JAAS, format!("`{JAAS}`: {}", error.message)).maybe_hint(hint)
        })?;
        if of_mechanism.contains(&module.class.as_str()) {
            return Ok(module);
        }
        if LOGIN_MODULES.contains(&module.class.as_str()) {
            let mechanism = self.text(MECHANISM).unwrap_or_default();
            let message = format!("`{JAAS}`: {} does not speak {mechanism}", module.name());
            return Err(self
                .wrong(JAAS, message)
                .hint(format!("the login module of {mechanism} is {}", of_mechanism[0])));
        }
        let message = format!("`{JAAS}`: login module {} is not supported here", quoted(&module.class));
        Err(self.wrong(JAAS, message).hint(format!("supported are {}", listed(LOGIN_MODULES))))
    }

    /// The user's name, and under which name the password is known.
    fn user(&mut self, module: &LoginModule) -> Result<(String, String), InputError> {
        let option = |name: &str| {
            let value = module.options.get(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| self.wrong(JAAS, format!("`{JAAS}` has no `{name}`")))
        };
        let (username, password) = (option("username")?, option("password")?);
        self.no_reference(JAAS, Some("username"), username)?;
        let password = self.keep(JAAS, Some("password"), password)?;
        Ok((username.clone(), password))
    }

    fn scram(&mut self, hash: ScramHash) -> Result<Sasl, InputError> {
        let module = self.login_module(&[SCRAM])?;
        let (username, password) = self.user(&module)?;
        let is_delegation_token =
            module.options.get("tokenauth").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(Sasl::Scram { hash, username, password, is_delegation_token })
    }

    fn bearer(&mut self) -> Result<Sasl, InputError> {
        let module = self.login_module(&[BEARER])?;
        let extension = |(name, value): (&String, &String)| {
            Some((name.strip_prefix(EXTENSION)?.to_owned(), value.clone()))
        };
        let extensions: BTreeMap<String, String> = module.options.iter().filter_map(extension).collect();
        for (name, value) in module.options.iter().filter(|(name, _)| name.starts_with(EXTENSION)) {
            self.no_reference(JAAS, Some(name), value)?;
        }
        let token = match (module.options.get(TOKEN), self.text(TOKEN_URL)) {
            (Some(value), _) => self.keep(JAAS, Some(TOKEN), value)?,
            (None, Some(url)) => self.token_of(url)?,
            (None, None) => {
                let message = format!("`{JAAS}` says nothing of where the token comes from");
                return Err(self.wrong(JAAS, message).hint(TOKEN_HINT));
            }
        };
        Ok(Sasl::OauthBearer { token, extensions })
    }

    /// A token that lies in a file; one that a server gives needs a command that asks it.
    fn token_of(&mut self, url: &str) -> Result<String, InputError> {
        let path = url.strip_prefix("file:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
        match path.filter(|path| path.starts_with('/')) {
            Some(path) => {
                self.found.secrets.insert(TOKEN_URL.to_owned(), SecretRef::File(PathBuf::from(path)));
                Ok(TOKEN_URL.to_owned())
            }
            None => {
                let message = format!(
                    "`{TOKEN_URL}` is taken with `file:///PATH` only: tokens are not fetched over HTTP"
                );
                Err(self.wrong(TOKEN_URL, message).hint(TOKEN_HINT))
            }
        }
    }
}

fn spoken() -> String {
    format!("supported are {}", listed(Mechanism::NAMES.iter().copied()))
}
