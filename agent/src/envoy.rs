//! Envoy's rate limit service, version 3: descriptors of a request come in, and a verdict goes out.

pub mod message;
pub mod service;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_prost::ProstCodec;
use weir_shared::limits::DESCRIPTORS_BYTES_MAX;

use crate::agent::Agent;
use message::{RateLimitRequest, RateLimitResponse};

/// The one method of the service.
pub const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The method, as it is called once.
struct ShouldRateLimit(Rc<Agent>);

impl UnaryService<RateLimitRequest> for ShouldRateLimit {
    type Response = RateLimitResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<RateLimitResponse>, tonic::Status>>>>;

    fn call(&mut self, request: tonic::Request<RateLimitRequest>) -> Self::Future {
        let agent = Rc::clone(&self.0);
        Box::pin(async move {
            let answer = service::should_rate_limit(&agent, &request.into_inner()).await?;
            Ok(tonic::Response::new(answer))
        })
    }
}

/// Answers a call of the method.
pub async fn serve(agent: Rc<Agent>, request: Request<Incoming>) -> Response<Body> {
    let codec = ProstCodec::<RateLimitResponse, RateLimitRequest>::default();
    let mut grpc = Grpc::new(codec).max_decoding_message_size(DESCRIPTORS_BYTES_MAX);
    grpc.unary(ShouldRateLimit(agent), request).await
}
