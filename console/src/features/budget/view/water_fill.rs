//! The water-fill: vessels as wide as weights, filled with what tenants were served.

use leptos::prelude::*;

use super::portions::PORTION_TONES;
use crate::chart::scale::Tick;
use crate::chart::series::Tone;
use crate::components::explain::Explain;
use crate::components::spark::{Swatch, hatch};
use crate::features::budget::model::water_fill::{Vessel, WaterFill};
use crate::format;
use crate::glossary::Term;
use crate::visible::visible;

/// Vessels narrower than this part of the drawing have no name under them.
const NAMED_WIDTH_MIN: f64 = 0.025;

/// The drawing, with its key.
#[component]
pub fn WaterFillDrawing(
    /// What is drawn.
    #[prop(into)]
    fill: Signal<WaterFill>,
    /// The same in words.
    #[prop(into)]
    words: Signal<String>,
    /// What is left of guarantees is called.
    #[prop(into)]
    reserved: Signal<&'static str>,
) -> impl IntoView {
    let key = move || {
        let [used, borrowed, left, denied] = PORTION_TONES;
        [
            (used, "used within the guarantee"),
            (borrowed, "borrowed"),
            (left, reserved.get()),
            (denied, "denied"),
        ]
        .map(|(tone, name)| view! { <li><Swatch tone/>{name}</li> })
        .collect_view()
    };
    let axis = move || {
        let marks = fill.with(WaterFill::marks);
        let mark = |tick: Tick| {
            view! { <span class="tick" style:bottom=percent(tick.place)>{tick.label}</span> }
        };
        marks.into_iter().map(mark).collect_view()
    };
    let vessels = move || fill.with(|fill| fill.vessels.iter().map(vessel).collect_view());
    let names = move || fill.with(|fill| fill.vessels.iter().filter_map(name).collect_view());
    // Names of tenants above others stand below the names of those.
    let lines = move || {
        let lines = fill.with(|fill| fill.vessels.iter().map(|vessel| vessel.line).max());
        lines.unwrap_or_default().to_string()
    };
    view! {
        <figure class="chart water-fill" data-testid="water-fill">
            <figcaption class="chart-head">
                <span class="chart-title">"Units for each unit of weight"</span>
                <ul class="key">
                    {key}
                    <li><span class="line-key fair" aria-hidden="true"></span>"fair share"<Explain term=Term::FairShare/></li>
                    <li><span class="line-key level" aria-hidden="true"></span>"level"<Explain term=Term::Level/></li>
                </ul>
            </figcaption>
            <div class="chart-body">
                <div class="value-axis" aria-hidden="true">{axis}</div>
                <div class="plot-box">
                    <svg class="vessels" role="img" aria-label=words width="100%" height="100%">
                        {vessels}
                        {move || fill.with(|fill| fill.fair.map(|fair| across("fair", fill.height(fair))))}
                        {move || fill.with(|fill| fill.level.map(|level| across("level", fill.height(level))))}
                    </svg>
                </div>
                <div class="vessel-names" aria-hidden="true" style:--lines=lines>{names}</div>
            </div>
        </figure>
    }
}

fn percent(part: f64) -> String {
    format!("{:.3}%", part * 100.0)
}

fn across(class: &'static str, height: f64) -> impl IntoView {
    let y = percent(1.0 - height);
    view! { <line class=class x1="0" x2="100%" y1=y.clone() y2=y></line> }
}

/// A layer of a vessel, from one height to another.
fn layer(vessel: &Vessel, tone: Tone, from: f64, to: f64) -> Option<impl IntoView + use<>> {
    let height = to - from;
    (height > 0.0).then(|| {
        view! {
            <rect class=tone.class() fill=hatch(tone) x=percent(vessel.left) width=percent(vessel.width)
                y=percent(1.0 - to) height=percent(height)></rect>
        }
    })
}

fn vessel(vessel: &Vessel) -> impl IntoView + use<> {
    let [used, borrowed, reserved, denied] = PORTION_TONES;
    let portion = &vessel.portion;
    // Within another one it stands on what that one used.
    let open = percent(1.0 - vessel.base);
    let units = |units: u64| format::count(units.into());
    let told = format!(
        "{}: weight {}, guarantee {}, used {}, borrowed {}, denied {} units",
        portion.tenant,
        portion.weight_words(),
        units(portion.guarantee),
        units(portion.used),
        units(portion.borrowed),
        units(portion.denied),
    );
    view! {
        <g>
            <title>{told}</title>
            {layer(vessel, denied, vessel.full, vessel.wanted)}
            {layer(vessel, reserved, vessel.filled, vessel.guaranteed)}
            {layer(vessel, used, vessel.base, vessel.kept)}
            {layer(vessel, borrowed, vessel.kept, vessel.filled)}
            <rect class="vessel" x=percent(vessel.left) width=percent(vessel.width) y="0" height=open></rect>
        </g>
    }
}

fn name(vessel: &Vessel) -> Option<impl IntoView + use<>> {
    let shown = vessel.width >= NAMED_WIDTH_MIN;
    let line = vessel.line;
    shown.then(|| {
        view! {
            <span class:above=line != 0 style:--line=line.to_string() style:left=percent(vessel.left) style:width=percent(vessel.width) title=visible(&vessel.portion.tenant)>
                {visible(&vessel.portion.tenant)}
            </span>
        }
    })
}
