//! The door every request passes: who asks, from where, and whether there is room.
//!
//! - Host must be one of ours. A page elsewhere can make a name of its own lead to 127.0.0.1 (DNS rebinding) and then counts
//!   as the same origin in the browser; it cannot change the Host that the browser sends. Addresses written as numbers need no
//!   name and so cannot be rebound: beyond loopback they are taken.
//! - Origin, where there is one, must be ours too.
//! - Everything that is data asks for the token, in `Authorization: Bearer`.
//! - So many requests at once and no more.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::journal::Journal;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::token;
use crate::{Error, Result};

/// Where to listen, and who may come in.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address; the loopback one unless asked otherwise.
    pub host: IpAddr,
    /// The port; 0 for any free one.
    pub port: u16,
    /// What a request has to show; made up when not given.
    pub token: Option<String>,
    /// More names this server goes by, where there is a proxy with a name before it.
    pub names: Vec<String>,
    /// What a request may cost.
    pub limits: Limits,
    /// Whether requests are logged.
    pub log: bool,
}

impl Default for Listen {
    fn default() -> Self {
        let limits = Limits::default();
        Listen { host: Ipv4Addr::LOCALHOST.into(), port: 0, token: None, names: Vec::new(), limits, log: false }
    }
}

/// What requests may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a body, or of a line where lines are streamed.
    pub body: usize,
    /// How long a body may take to arrive, and an answer to be made.
    pub time: Duration,
    /// Requests at once.
    pub requests: usize,
    /// Pieces of work that may wait for a thread.
    pub queue: usize,
    /// Connections; beyond it the one that has been idle for longest is closed.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { body: 16 << 20, time: Duration::from_secs(30), requests: 256, queue: 1024, connections: 512 }
    }
}

/// The door of one server.
#[derive(Debug)]
pub(crate) struct Door {
    token: String,
    port: u16,
    host: IpAddr,
    names: Vec<String>,
    routes: &'static [&'static str],
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) journal: Journal,
    inside: AtomicUsize,
    requests: AtomicU64,
}

/// Room for one request, until dropped.
struct Room<'a>(&'a AtomicUsize);

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Door {
    /// The door of a server that listens on `address`. `routes` are the paths that metrics tell apart.
    pub(crate) fn new(
        listen: &Listen,
        address: SocketAddr,
        routes: &'static [&'static str],
        journal: Journal,
    ) -> Result<Self> {
        let token = match &listen.token {
            Some(token) => token.clone(),
            None => token::fresh()?,
        };
        token::check(&token)?;
        if !listen.host.is_loopback() && token.len() < 16 {
            let reason =
                "beyond the loopback address a token has at least 16 characters; without one, a good one is made up";
            return Err(Error::Wrong(reason.into()));
        }
        Ok(Door {
            token,
            port: address.port(),
            host: listen.host,
            names: listen.names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            routes,
            limits: listen.limits.clone(),
            metrics: Metrics::default(),
            journal,
            inside: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
        })
    }

    /// The address for people, with the token.
    pub(crate) fn address(&self) -> String {
        // An address that means "all of this machine's" is none to go to.
        let host = match self.host {
            host if host.is_unspecified() => "127.0.0.1".to_string(),
            IpAddr::V4(host) => host.to_string(),
            IpAddr::V6(host) => format!("[{host}]"),
        };
        format!("http://{host}:{}/?token={}", self.port, self.token)
    }

    /// Requests inside just now.
    pub(crate) fn inside(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }

    /// Puts the door before a router.
    pub(crate) fn before(self: &Arc<Self>, router: Router) -> Router {
        let nothing = || async { Refusal::missing("there is nothing here; /openapi.json lists what there is") };
        let wrong_way =
            || async { Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path answers to another method") };
        let router = router.fallback(nothing).method_not_allowed_fallback(wrong_way);
        router.layer(from_fn_with_state(Arc::clone(self), pass))
    }

    fn is_ours(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        if self.names.contains(&authority) {
            return true;
        }
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (authority.as_str(), Some(80)),
        };
        if self.names.iter().any(|known| known == name) {
            return true;
        }
        if port != Some(self.port) {
            return false;
        }
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.host.is_loopback(),
            Err(_) => name == "localhost",
        }
    }

    fn check_place(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refusal> {
        let forbidden = |reason: &str| Refusal::new(StatusCode::FORBIDDEN, reason);
        let mut hosts = headers.get_all(header::HOST).iter();
        let host =
            hosts.next().and_then(|host| host.to_str().ok()).ok_or_else(|| Refusal::bad("a request names its Host"))?;
        let second = hosts.next().is_some() || uri.authority().is_some_and(|authority| authority.as_str() != host);
        if second || !self.is_ours(host) {
            return Err(forbidden("this server does not go by that Host"));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let ours = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")));
            if !ours.is_some_and(|authority| self.is_ours(authority)) {
                return Err(forbidden("pages of another Origin have no business here"));
            }
        }
        Ok(())
    }

    fn check_token(&self, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        if !(path.starts_with("/v1/") || path == "/metrics") {
            return Ok(());
        }
        let offered = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let offered = offered.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        match offered.is_some_and(|offered| token::same(&self.token, offered)) {
            true => Ok(()),
            false => Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "the token of this start is asked for: `Authorization: Bearer TOKEN`; the first line printed has it",
            )),
        }
    }

    fn admit(&self, request: &Request) -> Result<Room<'_>, Refusal> {
        self.check_place(request.headers(), request.uri())?;
        self.check_token(request.uri().path(), request.headers())?;
        let before = self.inside.fetch_add(1, Ordering::AcqRel);
        let room = Room(&self.inside);
        // Whether one lives is asked at all times.
        let health = matches!(request.uri().path(), "/healthz" | "/readyz");
        match before < self.limits.requests || health {
            true => Ok(room),
            false => Err(Refusal::busy(format!("{before} requests are under way already; try again soon"))),
        }
    }
}

/// Every request goes through here, and every answer.
async fn pass(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let number = door.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let method = request.method().clone();
    let route = door.routes.iter().find(|route| **route == request.uri().path()).copied().unwrap_or("other");
    let received =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let mut response = match door.admit(&request) {
        Ok(_room) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status().as_u16();
    if status == 401 {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    add_headers(response.headers_mut());
    let took = started.elapsed();
    door.metrics.answered(route, status, took);
    door.journal.note(
        "request",
        json!({
            "request": number, "method": method.as_str(), "route": route, "status": status,
            "milliseconds": (took.as_secs_f64() * 1e6).round() / 1e3, "bytes": received,
        }),
    );
    response
}

/// What tells a browser to keep to itself what it is shown.
fn add_headers(headers: &mut HeaderMap) {
    let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(listen: Listen) -> Door {
        let address = SocketAddr::new(listen.host, 4321);
        Door::new(&listen, address, &[], Journal::start(false).unwrap().0).unwrap()
    }

    #[test]
    fn only_names_that_cannot_be_rebound_are_ours() {
        let local = door(Listen::default());
        for ours in ["127.0.0.1:4321", "localhost:4321", "LOCALHOST:4321", "[::1]:4321", "127.0.0.2:4321"] {
            assert!(local.is_ours(ours), "{ours}");
        }
        for foreign in [
            "evil.example:4321",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "10.0.0.1:4321",
            "localhost.evil.example:4321",
            "127.0.0.1.evil.example:4321",
            "",
            ":4321",
            "[::1",
            "127.0.0.1:4321:4321",
            "localhost:04321x",
        ] {
            assert!(!local.is_ours(foreign), "{foreign}");
        }
        let open = door(Listen {
            host: Ipv4Addr::UNSPECIFIED.into(),
            token: Some("x".repeat(16)),
            names: vec!["Texts.Example".into()],
            ..Listen::default()
        });
        for ours in ["10.0.0.1:4321", "texts.example", "texts.example:443", "localhost:4321"] {
            assert!(open.is_ours(ours), "{ours}");
        }
        assert!(!open.is_ours("evil.example:4321") && !open.is_ours("evil.texts.example"));
    }

    #[test]
    fn a_short_token_does_for_this_machine_only() {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 1);
        let listen = Listen { token: Some("short".into()), ..Listen::default() };
        let journal = || Journal::start(false).unwrap().0;
        assert!(Door::new(&listen, address, &[], journal()).is_ok());
        let open = Listen { host: Ipv4Addr::UNSPECIFIED.into(), ..listen };
        assert!(Door::new(&open, address, &[], journal()).is_err());
    }
}
