//! Limits at work: what an isolate keeps of hot keys, what a shard of a region's keys decides, holds and settles, and
//! what a reservation remembers.

mod asked_scale;
pub mod cache;
pub mod hold;
pub mod idempotency;
pub mod key;
pub mod key_cache;
pub mod line;
pub mod messages;
pub mod owner;
mod reply;
pub mod reservation;
pub mod reset;
pub mod roll;
pub mod room;
pub mod rows;
pub mod settlement;
pub mod shard;
pub mod slot;
mod slots;
pub mod spare_slots;
pub mod store;
pub mod stored;
pub mod terms;
pub mod verdict;
