//! Small drawings that stand beside a figure: a line without axes, a share, and the parts of an amount.

use leptos::prelude::*;

use crate::chart::bars::side_by_side;
use crate::chart::line::{HEIGHT, WIDTH, spark};
use crate::chart::scale::place;
use crate::chart::series::{Part, Tone};
use crate::format;

/// The hatchings that bars are filled with, once for the whole page: `fill="url(#hatch-blue)"`.
#[component]
pub fn Hatchings() -> impl IntoView {
    let pattern = |tone: Tone| {
        view! {
            <pattern id=format!("hatch-{}", tone.name()) class=tone.class() width="6" height="6" patternUnits="userSpaceOnUse">
                <rect class="fill" width="6" height="6"></rect>
                {tone.hatching().map(|strokes| view! { <path class="hatching" d=strokes></path> })}
            </pattern>
        }
    };
    view! {
        <svg class="hatchings" width="0" height="0" aria-hidden="true">
            <defs>{Tone::ALL.map(pattern).collect_view()}</defs>
        </svg>
    }
}

/// The `fill` of bars in a tone.
pub fn hatch(tone: Tone) -> String {
    format!("url(#hatch-{})", tone.name())
}

/// A small square in a tone's hatching: the key to a bar.
#[component]
pub fn Swatch(
    /// The tone.
    tone: Tone,
) -> impl IntoView {
    view! {
        <svg class="swatch" width="12" height="12" aria-hidden="true">
            <rect class=tone.class() width="12" height="12" fill=hatch(tone)></rect>
        </svg>
    }
}

fn box_of_lines() -> String {
    format!("0 0 {WIDTH} {HEIGHT}")
}

/// A line from 0 to its own largest value. It repeats what figures beside it say, unless it has a label.
#[component]
pub fn Sparkline(
    /// The values, evenly spaced, oldest first.
    #[prop(into)]
    values: Signal<Vec<f64>>,
    /// What is read out for it.
    #[prop(optional, into)]
    label: Option<String>,
    /// What it is drawn in.
    #[prop(default = Tone::Blue)]
    tone: Tone,
) -> impl IntoView {
    let silent = label.is_none();
    view! {
        <svg
            class=format!("sparkline {}", tone.class())
            viewBox=box_of_lines()
            preserveAspectRatio="none"
            role=(!silent).then_some("img")
            aria-label=label
            aria-hidden=silent.then_some("true")
        >
            <path class="stroke" d=move || values.with(|values| spark(values))></path>
        </svg>
    }
}

/// A share of a whole; beyond the whole it is full.
#[component]
pub fn Meter(
    /// The share: 1 is all of it.
    #[prop(into)]
    share: Signal<f64>,
    /// What it is a share of.
    #[prop(into)]
    label: Signal<String>,
    /// What it is drawn in.
    #[prop(default = Tone::Blue)]
    tone: Tone,
) -> impl IntoView {
    let percent = move || place(share.get(), 1.0) * 100.0;
    view! {
        <span
            class=format!("meter {}", tone.class())
            role="meter"
            aria-label=label
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=move || format!("{:.0}", percent())
            aria-valuetext=move || format::percent(share.get())
        >
            <svg aria-hidden="true">
                <rect class="track" width="100%" height="100%"></rect>
                <rect class="fill" width=move || format!("{:.2}%", percent()) height="100%"></rect>
            </svg>
        </span>
    }
}

/// The parts of an amount beside one another; what is left of the whole stays empty.
#[component]
pub fn SplitBar(
    /// The parts, from the left.
    #[prop(into)]
    parts: Signal<Vec<Part>>,
    /// The whole.
    #[prop(into)]
    whole: Signal<f64>,
    /// What is read out for it: what the parts are.
    #[prop(into)]
    label: Signal<String>,
    /// An amount that is marked by a line across.
    #[prop(optional, into)]
    mark: Option<Signal<Option<f64>>>,
) -> impl IntoView {
    let drawn = move || {
        let (parts, whole) = (parts.get(), whole.get());
        let places = side_by_side(&parts, whole);
        let bar = |(part, (x, width)): (Part, (f64, f64))| {
            view! {
                <rect class=part.tone.class() fill=hatch(part.tone) height="100%"
                    x=format!("{:.3}%", x * 100.0) width=format!("{:.3}%", width * 100.0)>
                    <title>{format!("{}: {}", part.name, crate::chart::scale::full(part.amount))}</title>
                </rect>
            }
        };
        parts.into_iter().zip(places).map(bar).collect_view()
    };
    let marked = move || {
        let amount = mark.and_then(|mark| mark.get())?;
        let x = format!("{:.3}%", place(amount, whole.get()) * 100.0);
        Some(view! { <line class="mark" x1=x.clone() x2=x y1="0" y2="100%"></line> })
    };
    view! {
        <svg class="split-bar" role="img" aria-label=label>
            <rect class="track" width="100%" height="100%"></rect>
            {drawn}
            {marked}
        </svg>
    }
}
