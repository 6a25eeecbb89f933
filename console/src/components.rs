//! Parts that several pages have. They show and pass on; what they show is worked out elsewhere.

pub mod announcer;
pub mod chart;
pub mod chart_table;
pub mod choice;
pub mod dialog;
pub mod difference;
pub mod explain;
pub mod field;
pub mod focus;
pub mod header;
pub mod health_word;
pub mod icon;
pub mod live_control;
pub mod notice;
pub mod preview;
pub mod range_picker;
pub mod rows;
pub mod search_box;
pub mod shell;
pub mod shortcuts;
pub mod spark;
pub mod states;
pub mod tenant_link;
pub mod time;
pub mod toasts;
pub mod warnings;
