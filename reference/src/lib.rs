//! Controls: what Weir's sharing is measured against in tests and benchmarks. Nothing here runs in a deployment.
//!
//! | machine | what it is |
//! | --- | --- |
//! | [`region_pool::RegionPool`] | a window split between regions by weight |
//! | [`federated_escrow::FederatedEscrow`] | a region's tenants over such a pool |
//! | [`leasing::Engine`] | lease, reconcile, refill and release, as other limiters federate |
//! | [`spender::LeaseSpender`] | a balance that leases fill, the smallest holder |
//! | [`compatible::Tracker`] | fairness without quotas as FAIR has it, decision for decision |
//! | [`sizer::LeaseSizer`] | how large a lease saves most: `sqrt(2 c D / h)` |

pub mod compatible;
pub mod federated_escrow;
pub mod leasing;
pub mod limits;
pub mod murmur3;
pub mod region_pool;
pub mod sizer;
pub mod spender;
