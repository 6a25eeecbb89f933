//! Charts: what is drawn where, as numbers and attributes of plain SVG.

pub mod bars;
pub mod csv;
pub mod cursor;
pub mod line;
pub mod scale;
pub mod series;
