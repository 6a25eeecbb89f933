//! The region that decides a request, with its policy.

use weir_shared::invalid::{Fault, Invalid};
use weir_shared::name::label;
use weir_shared::policy::Policy;
use weir_shared::policy::region::{Arrival, choose, nearest};
use worker::js_sys::Reflect;
use worker::{Env, Request};

use crate::http::failure::Failure;
use crate::isolate::contact::policy;
use crate::isolate::loaded::Loaded;
use crate::isolate::memory::{any_policy, forget};
use crate::isolate::request::RequestHandles;
use crate::objects::registry::shipped;

/// The header that names the region of a request, where `ALLOW_REGION_HEADER` is 1.
const REGION_HEADER: &str = "weir-region";

/// What is known of where a request came from, besides its body.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientLocation {
    /// The region that the deployment pins or a test names.
    pub region: Option<String>,
    /// The continent where the platform says that it arrived.
    pub continent: Option<String>,
    /// The longitude, in degrees.
    pub longitude: Option<f64>,
}

impl ClientLocation {
    /// Of a request. Read field by field: a Worker that calls over a service binding may send anything.
    ///
    /// # Errors
    /// When the platform refuses to read a header.
    pub fn of(request: &Request, env: &Env) -> Result<Self, Failure> {
        let field = |name: &str| {
            let cf = Reflect::get(request.inner(), &"cf".into()).ok()?;
            Reflect::get(&cf, &name.into()).ok()?.as_string()
        };
        Ok(Self {
            region: named_region(request, env)?,
            continent: field("continent"),
            longitude: field("longitude").and_then(|text| text.parse().ok()),
        })
    }

    /// The region that decides, with its policy. A region that the deployment pins or a test names is taken as it is, if
    /// the policy has it; otherwise the nearest that the policy has. An isolate that knows no policy yet asks the
    /// nearest of all.
    ///
    /// # Errors
    /// 400 for a region that the policy does not have.
    pub async fn place(&self, handles: &RequestHandles) -> Result<(String, Loaded), Failure> {
        if let Some(region) = &self.region {
            label(region).map_err(|fault| Invalid::new(format!("/{REGION_HEADER}"), fault))?;
            let loaded = policy(handles, region).await?;
            if loaded.policy.regions.contains(region) {
                return Ok((region.clone(), loaded));
            }
            forget(region);
            return Err(Failure::Invalid(Invalid::new(
                format!("/{REGION_HEADER}"),
                Fault::Unknown {
                    name: region.clone(),
                    what: "region of the policy",
                },
            )));
        }
        let arrival = self.arrival();
        let choose = |policy: &Policy| choose(arrival, &policy.regions, &policy.home).to_owned();
        let first =
            any_policy().map_or_else(|| nearest(arrival)[0].to_owned(), |known| choose(&known));
        let loaded = policy(handles, &first).await?;
        let region = choose(&loaded.policy);
        if region == first {
            return Ok((region, loaded));
        }
        let loaded = policy(handles, &region).await?;
        Ok((region, loaded))
    }

    /// Where it arrived.
    pub fn arrival(&self) -> Arrival<'_> {
        Arrival {
            continent: self.continent.as_deref(),
            longitude: self.longitude,
        }
    }
}

/// The region that decides a request, with its policy.
///
/// # Errors
/// As [`ClientLocation::place`].
pub async fn place(
    request: &Request,
    handles: &RequestHandles,
) -> Result<(String, Loaded), Failure> {
    ClientLocation::of(request, &handles.env)?
        .place(handles)
        .await
}

/// The home of the deployment, as far as the isolate knows: else of the policy that was shipped.
///
/// # Errors
/// Never for a build that passed, as the build validates what it ships.
pub fn home() -> Result<String, Failure> {
    if let Some(known) = any_policy() {
        return Ok(known.home.clone());
    }
    let shipped = shipped().map_err(|refused| Failure::Internal(refused.0))?;
    Ok(shipped.document.home.unwrap_or_default())
}

fn named_region(request: &Request, env: &Env) -> Result<Option<String>, Failure> {
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let header = if variable("ALLOW_REGION_HEADER").as_deref() == Some("1") {
        request.headers().get(REGION_HEADER)?
    } else {
        None
    };
    Ok(header.or_else(|| variable("REGION")))
}
