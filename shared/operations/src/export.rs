//! Lists as files: the same entries a line each, or as comma-separated values (RFC 4180) for whoever reads them in a
//! spreadsheet.

pub mod cell;
pub mod file_form;
pub mod sheet;
pub mod sheets;
