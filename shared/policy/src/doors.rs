//! Which hosts lead where. A browser trusts everything at one host alike: a script of an application behind the gateway
//! could do whatever the operator may who has the console open at the same host. So operators have a host of their own,
//! at which nothing is routed.

use weir_core::invalid::{Fault, Invalid};

use crate::Policy;
use crate::route::{HostPattern, OriginUrl, TenantFrom, Unrouted, host_alone};

/// The variable that names the operators' host.
pub const OPERATOR_HOST: &str = "WEIR_OPERATOR_HOST";

/// The variable that lets operators and routes share one, when it is `1`: for local development and tests.
pub const ALLOW_SHARED_HOST: &str = "WEIR_ALLOW_SHARED_HOST";

/// Where the console's files are.
const CONSOLE: &str = "/console/";

/// Where the operator API is.
const OPERATOR: &str = "/operator/";

/// What a deployment says of its hosts.
///
/// ```
/// use weir_policy::doors::{Doors, Way};
/// let doors = Doors::new(Some("Ops.example.com."), false);
/// assert_eq!(doors.way("/operator/v1/policy", "ops.example.com:443"), Way::Table);
/// assert_eq!(doors.way("/operator/v1/policy", "app.example.com"), Way::Gateway);
/// assert_eq!(doors.way("/v1/check", "app.example.com"), Way::Table);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doors {
    /// In lower case, without port and final dot.
    operator_host: Option<String>,
    shared: bool,
}

/// Where a request is answered, by its path and host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By the table of all routes.
    Table,
    /// By the console's files.
    Console,
    /// By the gateway, for which operators' paths are nobody's.
    Gateway,
}

/// Whether requests to a host may be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// They may.
    Allowed,
    /// Never: it is the operators' host.
    Never,
    /// Not before the deployment names the operators' host.
    Unset,
}

impl Doors {
    /// By the values of [`OPERATOR_HOST`], of which an empty one says nothing, and of [`ALLOW_SHARED_HOST`].
    #[must_use]
    pub fn new(operator_host: Option<&str>, shared: bool) -> Self {
        let host = operator_host.map(|host| host_alone(host.trim()));
        Self {
            operator_host: host.filter(|host| !host.is_empty()),
            shared,
        }
    }

    /// Whether the host makes a difference for a path.
    #[must_use]
    pub fn concern(path: &str) -> bool {
        !path.starts_with("/v1/")
    }

    /// Where a request is answered.
    #[must_use]
    pub fn way(&self, path: &str, host: &str) -> Way {
        let operators = path.starts_with(CONSOLE) || path.starts_with(OPERATOR);
        let front = path == "/" || path == "/console";
        let elsewhere = self.operator_host.is_some() && !self.is_operators(host);
        match path {
            _ if elsewhere && (operators || front) => Way::Gateway,
            _ if path.starts_with(CONSOLE) => Way::Console,
            _ => Way::Table,
        }
    }

    /// Whether requests to a host may be forwarded to an origin.
    #[must_use]
    pub fn forwarding(&self, host: &str) -> Forwarding {
        match self.operator_host {
            Some(_) if self.is_operators(host) => Forwarding::Never,
            None if !self.shared => Forwarding::Unset,
            _ => Forwarding::Allowed,
        }
    }

    /// Refuses a policy that is about to be put in force, where the deployment is not set up for it. What was in force
    /// before is not looked at again.
    ///
    /// # Errors
    /// At a route, at `/unrouted/forward`, or at the URL of an origin that only the inside of a network reaches.
    pub fn permit(&self, policy: &Policy) -> Result<(), Invalid> {
        self.permit_routes(policy)?;
        permit_origins(policy)
    }

    fn permit_routes(&self, policy: &Policy) -> Result<(), Invalid> {
        let unset = |field: &str| {
            let why = "the console would share its host with what is routed";
            let variable = OPERATOR_HOST;
            Err(Invalid::new(field, Fault::Unset { variable, why }))
        };
        let open = self.operator_host.is_some() || self.shared;
        if !open && !policy.routes.is_empty() {
            return unset("/routes");
        }
        if !open && policy.unrouted != Unrouted::Refuse {
            return unset("/unrouted/forward");
        }
        for (index, route) in policy.routes.iter().enumerate() {
            if let HostPattern::Exact(host) = &route.host
                && self.is_operators(host)
            {
                let (got, served) = (host.clone(), "hosts that are not the operators' own");
                let field = format!("/routes/{index}/host");
                return Err(Invalid::new(field, Fault::Unserved { got, served }));
            }
        }
        Ok(())
    }

    fn is_operators(&self, host: &str) -> bool {
        self.operator_host.as_deref() == Some(host_alone(host).as_str())
    }
}

/// Refuses URLs inside of a network, unless the policy allows them: who edits policies would else reach what stands
/// beside Weir, such as the credentials that a machine's metadata service gives out.
///
/// # Errors
/// At the URL.
pub fn permit_origins(policy: &Policy) -> Result<(), Invalid> {
    if policy.allow_private_origins {
        return Ok(());
    }
    let inside = |url: &str| OriginUrl::read(url).is_ok_and(|url| url.is_inside());
    let refuse = |field: String, url: &str| {
        let got = url.to_owned();
        Err(Invalid::new(field, Fault::Inside { got }))
    };
    for (index, route) in policy.routes.iter().enumerate() {
        let mut origins = route.origins();
        if let Some((at, origin)) = origins.find(|(_, origin)| origin.url.is_inside()) {
            let field = format!("/routes/{index}{at}/url");
            return refuse(field, &origin.url.text());
        }
        if let Some(TenantFrom::Jwt(jwt)) = route.tenant.as_ref().map(|source| &source.from)
            && inside(&jwt.jwks_url)
        {
            let field = format!("/routes/{index}/tenant/jwt/jwks_url");
            return refuse(field, &jwt.jwks_url);
        }
    }
    match &policy.unrouted {
        Unrouted::Forward(origin) if origin.url.is_inside() => {
            refuse("/unrouted/forward/url".to_owned(), &origin.url.text())
        }
        _ => Ok(()),
    }
}
