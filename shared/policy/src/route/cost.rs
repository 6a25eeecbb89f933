//! How much a route charges for a request.

use std::sync::Arc;

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{COST_MAX, JSON_INTEGER_MAX};
use weir_wire::route::{BodyBytesBody, CostBody, CostSourceBody};

use super::header::HeaderName;
use super::usage::Usage;
use super::{one_of, required};
use crate::{between, bounded};

/// What a request costs, or where that is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cost {
    /// So many units; 0 looks.
    Units(u64),
    /// What a request header says, from 1; 1 without the header.
    Header {
        /// The header.
        name: HeaderName,
        /// What counts at most.
        max: u64,
    },
    /// By the bytes of the request's body, a part of a unit as a whole one.
    BodyBytes {
        /// Bytes of a unit.
        per: u64,
        /// Units charged for a body of unknown length until it was counted.
        reserve: u64,
    },
    /// What a header of the answer says.
    ResponseHeader {
        /// The header.
        name: HeaderName,
        /// Units charged until then.
        reserve: u64,
    },
    /// What the answer tells of its usage.
    Usage(Arc<Usage>),
}

impl Cost {
    /// The cost that is written; 1 for none.
    ///
    /// # Errors
    /// At `/cost/..`.
    pub(super) fn read(body: Option<&CostBody>) -> Result<Self, Invalid> {
        match body {
            None => Ok(Self::Units(1)),
            Some(CostBody::Units(units)) => Ok(Self::Units(between("/cost", *units, 0, COST_MAX)?)),
            Some(CostBody::Source(body)) => source(body).map_err(|refused| refused.under("/cost")),
        }
    }

    /// By what the answer tells, if that is how.
    #[must_use]
    pub fn usage(&self) -> Option<&Arc<Usage>> {
        match self {
            Self::Usage(usage) => Some(usage),
            _ => None,
        }
    }

    /// Whether what is charged at first may be settled when the request has ended.
    #[must_use]
    pub fn settles(&self) -> bool {
        !matches!(self, Self::Units(_) | Self::Header { .. })
    }
}

fn source(body: &CostSourceBody) -> Result<Cost, Invalid> {
    let name = |name: &str, at| HeaderName::read(name).map_err(|fault| Invalid::new(at, fault));
    let header = body.header.as_deref().map(|header| {
        Ok(Cost::Header {
            name: name(header, "/header")?,
            max: bounded("/max", *required(body.max.as_ref(), "/max")?, COST_MAX)?,
        })
    });
    let body_bytes = body.body_bytes.as_ref();
    let body_bytes = body_bytes
        .map(|bytes| self::body_bytes(bytes).map_err(|refused| refused.under("/body_bytes")));
    let response_header = body.response_header.as_deref().map(|header| {
        Ok(Cost::ResponseHeader {
            name: name(header, "/response_header")?,
            reserve: reserve(body.reserve.as_ref())?,
        })
    });
    let usage = body.usage.as_ref();
    let usage = usage.map(|usage| match Usage::read(usage) {
        Ok(usage) => Ok(Cost::Usage(Arc::new(usage))),
        Err(refused) => Err(refused.under("/usage")),
    });
    let given = [
        ("header", header),
        ("body_bytes", body_bytes),
        ("response_header", response_header),
        ("usage", usage),
    ];
    let cost = one_of(given, "/header")?;
    let foreign = [
        (
            "/max",
            body.max.is_some() && body.header.is_none(),
            "a cost without header",
        ),
        (
            "/reserve",
            body.reserve.is_some() && body.response_header.is_none(),
            "a cost without response_header",
        ),
    ];
    match foreign.into_iter().find(|(_, given, _)| *given) {
        Some((field, _, to)) => {
            let to = to.to_owned();
            Err(Invalid::new(field, Fault::Foreign { to }))
        }
        None => Ok(cost),
    }
}

fn body_bytes(body: &BodyBytesBody) -> Result<Cost, Invalid> {
    Ok(Cost::BodyBytes {
        per: bounded("/per", body.per.unwrap_or(1), JSON_INTEGER_MAX)?,
        reserve: reserve(body.reserve.as_ref())?,
    })
}

/// With nothing reserved there would be nothing to settle.
fn reserve(units: Option<&u64>) -> Result<u64, Invalid> {
    bounded("/reserve", *required(units, "/reserve")?, COST_MAX)
}
