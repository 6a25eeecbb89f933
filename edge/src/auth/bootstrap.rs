//! The first admin token: the secret `WEIR_BOOTSTRAP_TOKEN` of the deployment.

use std::cell::OnceCell;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use weir_shared::access::bootstrap_secret::judge;
use weir_shared::access::credential::SecretEnds;
use weir_shared::access::grant::Principal;
use weir_shared::access::token::TokenKey;
use weir_shared::limits::BOOTSTRAP_ACCOUNT_BYTES;
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::role::Role;
use worker::{Env, console_error};

/// Keeps the mark of its sessions apart from whatever else a MAC is made of.
const SESSION: &str = "weir session of the bootstrap token";

/// What stands before the mark in the id of a session.
const MARK: char = '~';

/// Bytes of a mark.
const MARK_BYTES: usize = 12;

/// The variable that holds it.
const VARIABLE: &str = "WEIR_BOOTSTRAP_TOKEN";

thread_local! {
    /// Read and judged once: an isolate's variables never change.
    static TOKEN: OnceCell<Option<Rc<BootstrapToken>>> = const { OnceCell::new() };
}

/// Who comes with the bootstrap token.
#[must_use]
pub fn principal() -> Principal {
    Principal {
        token: Some(BOOTSTRAP.to_owned()),
        ..Principal::new(BOOTSTRAP, Role::Admin)
    }
}

/// The bootstrap token. It is never printed.
pub struct BootstrapToken {
    text: String,
    /// What is looked for in fields that are to be forwarded.
    ends: Option<SecretEnds>,
}

impl BootstrapToken {
    /// The deployment's token; `None` when there is none or it is easily guessed.
    #[must_use]
    pub fn from_env(env: &Env) -> Option<Rc<Self>> {
        TOKEN.with(|token| token.get_or_init(|| Self::read(env).map(Rc::new)).clone())
    }

    fn read(env: &Env) -> Option<Self> {
        let text = env.var(VARIABLE).ok()?.to_string();
        match judge(&text) {
            Ok(()) => Some(Self {
                ends: SecretEnds::of(&text),
                text,
            }),
            Err(guessable) => {
                console_error!("{VARIABLE} {guessable}: it is refused");
                None
            }
        }
    }

    /// Whether `given` is the token, in a time that does not depend on where they differ.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        are_equal(self.text.as_bytes(), given.as_bytes())
    }

    /// The id of a session that this token opens: `id` with what shows by which token it was opened, so that with another
    /// token in its place no session of this one goes on.
    #[must_use]
    pub fn mark(&self, id: &str) -> String {
        let key = TokenKey::new(Sha256::digest(self.text.as_bytes()).into());
        let mac = key.mac_of(SESSION, id).unwrap_or_default();
        format!("{id}{MARK}{}", URL_SAFE_NO_PAD.encode(&mac[..MARK_BYTES]))
    }

    /// Whether this token has opened the session of that id.
    #[must_use]
    pub fn has_opened(&self, id: &str) -> bool {
        let opened = id.rsplit_once(MARK);
        opened.is_some_and(|(plain, _)| are_equal(self.mark(plain).as_bytes(), id.as_bytes()))
    }

    /// What is looked for in fields that are to be forwarded.
    #[must_use]
    pub fn ends(&self) -> Option<SecretEnds> {
        self.ends
    }

    /// Whether `given` begins as the token does: who has not seen it never comes to try the rest.
    #[must_use]
    pub fn is_meant(&self, given: &str) -> bool {
        match (beginning(&self.text), beginning(given)) {
            (Some(begins), Some(given)) => are_equal(begins, given),
            _ => false,
        }
    }
}

fn beginning(text: &str) -> Option<&[u8]> {
    text.as_bytes().get(..BOOTSTRAP_ACCOUNT_BYTES)
}

fn are_equal(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}
