//! Who may use which route, written down a second time by hand: what the table says has to be what was meant.

use weir_shared::access::endpoint::{Access, Endpoint, Method, Missed, ROUTES, find};
use weir_shared::invalid::Fault;
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::role::Role;

/// A request, and who is let in: `-` anyone, else the letters of the roles (aGent, service, tenant, viewer,
/// editor, admin).
const MEANT: &str = "
    POST   /v1/check                               s t a
    POST   /v1/check/batch                         s t a
    POST   /v1/reserve                             s t a
    POST   /v1/settle                              s t a
    POST   /v1/report                              s a
    GET    /v1/authorize                           s a
    POST   /v1/authorize                           s a
    POST   /v1/guards/queries/acquire              s t a
    POST   /v1/guards/queries/renew                s t a
    POST   /v1/guards/queries/release              s t a
    POST   /v1/agent/contact                       g
    GET    /v1/fairness                            t a
    GET    /metrics                                v e a
    GET    /healthz                                -
    HEAD   /healthz                                -
    GET    /openapi.json                           -
    GET    /policy.schema.json                     -
    GET    /                                       -
    HEAD   /                                       -
    GET    /console                                -
    HEAD   /console                                -
    GET    /operator/v1/policy                     v e a
    PUT    /operator/v1/policy                     e a
    POST   /operator/v1/policy/preview             v e a
    POST   /operator/v1/replay                     v e a
    GET    /operator/v1/tenants                    v e a
    GET    /operator/v1/tenants/acme               v e a
    PATCH  /operator/v1/tenants/acme               e a
    DELETE /operator/v1/tenants/acme               e a
    GET    /operator/v1/fairness                   v e a
    GET    /operator/v1/budgets                    v e a
    GET    /operator/v1/budgets/tokens/windows     v e a
    GET    /operator/v1/regions                    v e a
    GET    /operator/v1/audit                      v e a
    GET    /operator/v1/audit/verify               v e a
    GET    /operator/v1/audit/export               v e a
    GET    /operator/v1/series                     v e a
    GET    /operator/v1/decisions                  v e a
    GET    /operator/v1/decisions/17.5a0a02d29c9c2c19.weur.never.limit.x v e a
    GET    /operator/v1/costs                      v e a
    GET    /operator/v1/live                       v e a
    POST   /operator/v1/reset                      e a
    GET    /operator/v1/tokens                     a
    POST   /operator/v1/tokens                     a
    DELETE /operator/v1/tokens/AAAAAAAAAAAAAAAA    a
    GET    /operator/v1/session                    v e a
    POST   /operator/v1/session                    -
    DELETE /operator/v1/session                    v e a
    POST   /operator/v1/sessions/revoke            a
";

fn letter(role: Role) -> &'static str {
    match role {
        Role::Agent => "g",
        Role::Service => "s",
        Role::Tenant => "t",
        Role::Viewer => "v",
        Role::Editor => "e",
        Role::Admin => "a",
    }
}

#[test]
fn every_route_lets_in_exactly_who_is_meant() {
    let mut seen = OrderedSet::new();
    for line in MEANT.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let meant: OrderedSet<&str> = words.collect();
        let route = find(method, path)
            .unwrap_or_else(|missed| panic!("{method} {path}: {missed:?}"))
            .route;
        let public = matches!(route.access, Access::Public);
        assert_eq!(public, meant.contains("-"), "{method} {path}");
        for role in Role::ALL {
            let admitted = public || meant.contains(letter(role));
            assert_eq!(
                route.access.admits(role),
                admitted,
                "{method} {path} for {role:?}"
            );
        }
        assert!(
            seen.insert((route.method, route.path)),
            "{method} {path} is there twice"
        );
    }
    let unmeant: Vec<_> = ROUTES
        .iter()
        .filter(|route| !seen.contains(&(route.method, route.path)))
        .collect();
    assert!(
        unmeant.is_empty(),
        "routes that nobody wrote down: {unmeant:?}"
    );
}

#[test]
fn an_endpoint_is_open_to_all_of_its_methods_callers_alike() {
    for route in ROUTES {
        let mut same = ROUTES
            .iter()
            .filter(|other| other.endpoint == route.endpoint);
        assert!(same.all(|other| other.access == route.access), "{route:?}");
    }
}

#[test]
fn nothing_but_the_table_is_served_and_other_methods_are_named() {
    for path in [
        "",
        "/nope",
        "/v1",
        "/v1/check/",
        "/v1/check/x",
        "/V1/CHECK",
        "//v1/check",
        "/v1/guards//acquire",
        "/v1/guards/a/b/acquire",
        "/v1/guards/a/steal",
        "/operator/v1/tenants/",
        "/operator/v1/tenants/a/b",
        "/operator/v1/budgets/a",
        "/operator/v1/{id}",
        "/operator/v2/policy",
    ] {
        assert_eq!(find("GET", path), Err(Missed::Path), "{path}");
    }
    for (method, path, allowed) in [
        ("GET", "/v1/check", "POST"),
        ("get", "/operator/v1/policy", "GET, PUT"),
        ("POST", "/operator/v1/policy", "GET, PUT"),
        ("PUT", "/operator/v1/session", "GET, POST, DELETE"),
        ("POST", "/healthz", "GET, HEAD"),
        ("OPTIONS", "/v1/guards/a/renew", "POST"),
        ("", "/operator/v1/tenants/a", "GET, PATCH, DELETE"),
    ] {
        let allow = allowed.to_owned();
        assert_eq!(
            find(method, path),
            Err(Missed::Method { allow }),
            "{method} {path}"
        );
    }
}

/// Envoy keeps the method and the path of what it asks about, and puts its own path before.
#[test]
fn a_proxy_asks_by_any_method_where_the_path_carries_that_of_the_request() {
    for (method, path) in [
        ("GET", "/v1/authorize"),
        ("POST", "/v1/authorize"),
        ("GET", "/v1/authorize/"),
        ("DELETE", "/v1/authorize/llm/chat"),
        ("OPTIONS", "/v1/authorize/v1/authorize"),
        ("M-SEARCH", "/v1/authorize/../check"),
    ] {
        let found = find(method, path).unwrap_or_else(|missed| panic!("{path}: {missed:?}"));
        assert_eq!(found.route.endpoint, Endpoint::Authorize, "{method} {path}");
        assert_eq!(found.name().as_deref(), Ok(""));
    }
    let allow = "GET, POST".to_owned();
    assert_eq!(
        find("DELETE", "/v1/authorize"),
        Err(Missed::Method { allow })
    );
    assert_eq!(find("GET", "/v1/authorized"), Err(Missed::Path));
}

#[test]
fn a_name_in_a_path_is_decoded_once_and_checked() {
    let name = |raw: &str| {
        let path = format!("/operator/v1/tenants/{raw}");
        let found = find("GET", &path).unwrap_or_else(|missed| panic!("{raw}: {missed:?}"));
        assert_eq!(found.route.endpoint, Endpoint::TenantRead);
        found.name()
    };
    let longest = "x".repeat(128);
    for (raw, decoded) in [
        ("acme", "acme"),
        ("enterprise:alpha", "enterprise:alpha"),
        ("enterprise%3Aalpha", "enterprise:alpha"),
        ("a%2Fb", "a/b"),
        ("%2e%2E", ".."),
        ("a+b", "a+b"),
        ("%2541", "%41"),
        ("%e2%82%ac", "€"),
        (longest.as_str(), longest.as_str()),
    ] {
        assert_eq!(name(raw).as_deref(), Ok(decoded), "{raw}");
    }
    let too_long = "x".repeat(129);
    for raw in [
        "%", "a%", "a%4", "%zz", "%+1", "%ff", "%c0%80", "%00", "a%0A", "%7f", "%c2%85", &too_long,
    ] {
        let refused = name(raw).expect_err(raw);
        assert_eq!(refused.field, "/id", "{raw}");
    }
    let escaped = "%41".repeat(129);
    let fault = name(&escaped).expect_err("129 bytes").fault;
    assert!(
        matches!(fault, Fault::TooMany { got: 129, .. }),
        "{fault:?}"
    );
}

#[test]
fn only_what_operators_use_takes_a_browsers_session() {
    for route in ROUTES {
        let operator = route.path.starts_with("/operator/v1/");
        assert_eq!(route.takes_session(), operator, "{route:?}");
        let decides = route.access.admits(Role::Service);
        assert!(
            !decides || !operator || route.access == Access::Public,
            "{route:?}"
        );
    }
}

#[test]
fn what_changes_something_is_never_asked_by_a_safe_method() {
    use Endpoint::{
        PolicySave, Reset, SessionClose, SessionOpen, SessionsRevoke, TenantDelete, TenantPatch,
        TokenCreate, TokenRevoke,
    };
    let changes = [
        PolicySave,
        Reset,
        SessionClose,
        SessionOpen,
        SessionsRevoke,
        TenantDelete,
        TenantPatch,
        TokenCreate,
        TokenRevoke,
    ];
    for route in ROUTES
        .iter()
        .filter(|route| changes.contains(&route.endpoint))
    {
        assert!(!route.method.is_safe(), "{route:?}");
    }
    assert!(Method::Get.is_safe() && Method::Head.is_safe());
}

#[test]
fn roles_are_written_as_the_contract_names_them() {
    let names = Role::ALL.map(|role| serde_json::to_string(&role).unwrap());
    assert_eq!(
        names.join(" "),
        r#""agent" "service" "tenant" "viewer" "editor" "admin""#
    );
    for role in Role::ALL {
        assert_eq!(Role::named(role.name()), Some(role));
    }
    let operating: Vec<_> = Role::ALL
        .into_iter()
        .filter(|role| role.operates())
        .collect();
    assert_eq!(operating, [Role::Viewer, Role::Editor, Role::Admin]);
}
