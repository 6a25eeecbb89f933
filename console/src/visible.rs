//! Names as they are shown: what nobody sees of them is written out.

pub use weir_shared::visible::{visible, visible_lines};
