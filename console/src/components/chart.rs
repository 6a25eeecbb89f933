//! A chart of values over time: lines or stacked bars, with its axes, its key, a cursor and a table of what it shows.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::series::SeriesView;

use super::chart_table::ChartTable;
use super::spark::{Swatch, hatch};
use super::time::use_time_zone;
use crate::chart::bars::{Bar, stacked};
use crate::chart::csv::About;
use crate::chart::cursor::{moved, under};
use crate::chart::line::{HEIGHT, WIDTH, path};
use crate::chart::scale::{Tick, full, interval_label, nice_max, place, short, ticks};
use crate::chart::scale::{time_place, time_ticks};
use crate::chart::series::{Line, instants, largest};
use crate::instant::TimeZone;

/// Marks along the time at most; narrow charts show every other one.
const TIME_MARKS: u64 = 8;

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Lines beside one another.
    Lines,
    /// Bars on top of one another: for what adds up.
    Bars,
}

/// The start and the end of what was counted, and the length of its intervals; a minute before anything is known.
pub fn intervals(series: Signal<Option<Arc<SeriesView>>>) -> (Signal<(u64, u64)>, Signal<u64>) {
    let span = move || {
        series.with(|view| {
            let view = view.as_ref();
            view.map_or((0, 1), |view| (view.from.0, view.to.0))
        })
    };
    let step_ms = move || series.with(|view| view.as_ref().map_or(60_000, |view| view.step_ms));
    (Signal::derive(span), Signal::derive(step_ms))
}

/// What a chart shows, as its parts read it.
#[derive(Clone, Copy)]
struct Shown {
    kind: Kind,
    unit: &'static str,
    series: Signal<Vec<Line>>,
    /// Lines across what is drawn.
    over: Signal<Vec<Line>>,
    span: Signal<(u64, u64)>,
    step_ms: Signal<u64>,
    zone: Signal<TimeZone>,
    limit: Signal<Option<f64>>,
    /// The upper end of the scale.
    max: Memo<f64>,
    /// The starts of the intervals.
    instants: Memo<Vec<u64>>,
    /// Which of them is read out.
    cursor: RwSignal<Option<usize>>,
}

impl Shown {
    fn cursor_ms(self) -> Option<u64> {
        let place = self.cursor.get()?;
        self.instants.with(|instants| instants.get(place).copied())
    }

    fn time_label(self, at_ms: u64) -> String {
        interval_label(at_ms, self.span.get(), self.step_ms.get(), self.zone.get())
    }

    /// What is known of an interval, in words.
    fn in_words(self, at_ms: u64) -> String {
        let mut words = self.time_label(at_ms);
        for line in self.all() {
            let value = line.value_at(at_ms);
            words.push_str(&format!(", {} {}", line.name, self.value_words(value)));
        }
        words
    }

    /// What is drawn and what is across it.
    fn all(self) -> Vec<Line> {
        let mut all = self.series.get();
        all.extend(self.over.get());
        all
    }

    fn value_words(self, value: Option<f64>) -> String {
        value.map_or_else(
            || "not known".to_owned(),
            |value| {
                format!("{} {}", full(value), self.unit)
                    .trim_end()
                    .to_owned()
            },
        )
    }
}

/// A chart.
#[component]
pub fn SeriesChart(
    /// What it shows.
    #[prop(into)]
    title: String,
    /// The unit of its values; empty for bare numbers.
    unit: &'static str,
    /// Lines or stacked bars.
    kind: Kind,
    /// The lines; with bars, the first is at the bottom.
    #[prop(into)]
    series: Signal<Vec<Line>>,
    /// The start and the end of what is shown.
    #[prop(into)]
    span: Signal<(u64, u64)>,
    /// The length of the intervals.
    #[prop(into)]
    step_ms: Signal<u64>,
    /// A value that is marked by a line across.
    #[prop(optional, into)]
    limit: Option<Signal<Option<f64>>>,
    /// Lines that are drawn across: what is compared with.
    #[prop(optional, into)]
    over: Option<Signal<Vec<Line>>>,
    /// What the file of the chart says beside its lines.
    #[prop(optional, into)]
    about: Option<Signal<About>>,
    /// What stands in the chart while nothing is known.
    #[prop(default = "Nothing was counted in this time.")]
    empty: &'static str,
) -> impl IntoView {
    let limit = limit.unwrap_or_else(|| Signal::stored(None));
    let over = over.unwrap_or_else(|| Signal::stored(Vec::new()));
    let about = about.unwrap_or_else(|| Signal::stored(About::default()));
    let max = Memo::new(move |_| {
        let largest = series.with(|series| largest(series, kind == Kind::Bars));
        let across = over.with(|over| self::largest(over, false));
        nice_max(largest.max(across).max(limit.get().unwrap_or(0.0)))
    });
    let shown = Shown {
        kind,
        unit,
        series,
        over,
        span,
        step_ms,
        zone: use_time_zone(),
        limit,
        max,
        instants: Memo::new(move |_| series.with(|series| instants(series))),
        cursor: RwSignal::new(None),
    };
    let nothing = Memo::new(move |_| {
        series.with(|series| {
            let known = |line: &Line| line.points.iter().any(|point| point.1.is_some());
            !series.iter().any(known)
        })
    });
    view! {
        <figure class="chart" data-testid="series-chart">
            <figcaption class="chart-head">
                <span class="chart-title">{title.clone()}" "<span class="muted">{unit}</span></span>
                <Key shown/>
            </figcaption>
            <div class="chart-body">
                <ValueAxis shown/>
                <div class="plot-box">
                    <Plot shown title=title.clone()/>
                    {move || nothing.get().then(|| view! { <p class="chart-empty muted">{empty}</p> })}
                </div>
                <TimeAxis shown/>
            </div>
            <ChartTable title unit series=Signal::derive(move || shown.all()) span step_ms zone=shown.zone about/>
        </figure>
    }
}

/// What each line is, and its value under the cursor.
#[component]
fn Key(shown: Shown) -> impl IntoView {
    let names = Memo::new(move |_| {
        let drawn = shown.series.with(Vec::len);
        let all = shown.all().into_iter().enumerate();
        all.map(|(place, line)| (line.name, line.tone, place >= drawn))
            .collect::<Vec<_>>()
    });
    let value = move |index: usize| {
        let at_ms = shown.cursor_ms()?;
        let value = shown.all().get(index)?.value_at(at_ms);
        Some(value.map_or_else(|| "–".to_owned(), full))
    };
    let item = move |(index, (name, tone, across)): (usize, (String, _, bool))| {
        let swatch = match shown.kind {
            Kind::Bars if !across => view! { <Swatch tone/> }.into_any(),
            _ => view! { <LineSwatch tone/> }.into_any(),
        };
        view! { <li>{swatch}{name}" "<span class="key-value">{move || value(index)}</span></li> }
    };
    view! {
        <span class="key-time">{move || shown.cursor_ms().map(|at_ms| shown.time_label(at_ms))}</span>
        <ul class="key">
            {move || names.get().into_iter().enumerate().map(item).collect_view()}
        </ul>
    }
}

/// A piece of line in a tone's dashes.
#[component]
fn LineSwatch(tone: crate::chart::series::Tone) -> impl IntoView {
    view! {
        <svg class=format!("swatch {}", tone.class()) width="22" height="12" aria-hidden="true">
            <path class="stroke" d="M0 6H22" stroke-dasharray=tone.dashes()></path>
        </svg>
    }
}

#[component]
fn ValueAxis(shown: Shown) -> impl IntoView {
    let mark = |tick: Tick| {
        let bottom = format!("{:.2}%", tick.place * 100.0);
        view! { <span class="tick" style:bottom=bottom>{tick.label}</span> }
    };
    view! {
        <div class="value-axis" aria-hidden="true">
            {move || ticks(shown.max.get()).into_iter().map(mark).collect_view()}
        </div>
    }
}

#[component]
fn TimeAxis(shown: Shown) -> impl IntoView {
    let mark = |tick: Tick| {
        let left = format!("{:.2}%", tick.place * 100.0);
        view! { <span class="tick" style:left=left>{tick.label}</span> }
    };
    let marks = move || {
        let found = time_ticks(shown.span.get(), shown.zone.get(), TIME_MARKS);
        found.into_iter().map(mark).collect_view()
    };
    view! { <div class="time-axis" aria-hidden="true">{marks}</div> }
}

/// The drawing. Its cursor is a slider, which arrow keys move and the pointer takes along.
#[component]
fn Plot(shown: Shown, title: String) -> impl IntoView {
    let cursor = shown.cursor;
    let count = move || shown.instants.with(Vec::len);
    let press = move |event: leptos::ev::KeyboardEvent| {
        if event.ctrl_key() || event.alt_key() || event.meta_key() {
            return;
        }
        if let Some(place) = moved(cursor.get_untracked(), &event.key(), count()) {
            event.prevent_default();
            cursor.set(Some(place));
        }
    };
    let plot = NodeRef::<leptos::html::Div>::new();
    let point = move |event: leptos::ev::PointerEvent| {
        let Some(plot) = plot.get_untracked() else {
            return;
        };
        let share = f64::from(event.offset_x()) / f64::from(plot.client_width().max(1));
        let span = shown.span.get_untracked();
        cursor.set(
            shown
                .instants
                .with_untracked(|instants| under(share, instants, span)),
        );
    };
    let newest = move || count().saturating_sub(1);
    let words = move || {
        let at_ms = match shown.cursor_ms() {
            Some(at_ms) => at_ms,
            None => shown.instants.with(|instants| instants.last().copied())?,
        };
        Some(shown.in_words(at_ms))
    };
    view! {
        <div
            class="plot"
            node_ref=plot
            role="slider"
            tabindex="0"
            aria-label=title
            aria-valuemin="0"
            aria-valuemax=move || newest().to_string()
            aria-valuenow=move || cursor.get().unwrap_or_else(newest).min(newest()).to_string()
            aria-valuetext=words
            on:keydown=press
            on:blur=move |_| cursor.set(None)
            on:pointermove=point
            on:pointerdown=point
            on:pointerleave=move |_| cursor.set(None)
        >
            <svg width="100%" height="100%" aria-hidden="true">
                <Grid shown/>
                {match shown.kind {
                    Kind::Bars => view! { <Bars shown/> }.into_any(),
                    Kind::Lines => view! { <Lines shown lines=shown.series/> }.into_any(),
                }}
                <Lines shown lines=shown.over/>
                <Limit shown/>
                <Cursor shown/>
            </svg>
        </div>
    }
}

/// A line across at a share of the height.
fn across(class: &'static str, height: f64) -> AnyView {
    let y = format!("{:.2}%", (1.0 - height) * 100.0);
    view! { <line class=class x1="0" x2="100%" y1=y.clone() y2=y></line> }.into_any()
}

#[component]
fn Grid(shown: Shown) -> impl IntoView {
    move || {
        let marks = ticks(shown.max.get()).into_iter();
        marks
            .map(|tick| across("grid", tick.place))
            .collect::<Vec<_>>()
    }
}

/// The value that is marked, above what is drawn.
#[component]
fn Limit(shown: Shown) -> impl IntoView {
    move || {
        let limit = shown.limit.get()?;
        let height = place(limit, shown.max.get());
        let y = format!("{:.2}%", (1.0 - height) * 100.0);
        Some(view! {
            {across("limit", height)}
            <text class="limit-label" x="100%" y=y dx="-4" dy="13" text-anchor="end">
                {format!("limit {}", short(limit))}
            </text>
        })
    }
}

#[component]
fn Bars(shown: Shown) -> impl IntoView {
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    let drawn = move || {
        shown.series.with(|series| {
            let bars = stacked(series, shown.span.get(), shown.step_ms.get(), shown.max.get());
            let bar = |bar: Bar| {
                let tone = series[bar.line].tone;
                view! {
                    <rect class=tone.class() fill=hatch(tone) x=percent(bar.x) width=percent(bar.width)
                        y=percent(bar.y) height=percent(bar.height)></rect>
                }
            };
            bars.into_iter().map(bar).collect_view()
        })
    };
    view! { <g>{drawn}</g> }
}

#[component]
fn Lines(shown: Shown, lines: Signal<Vec<Line>>) -> impl IntoView {
    let drawn = move || {
        let (span, step_ms, max) = (shown.span.get(), shown.step_ms.get(), shown.max.get());
        let line = |line: &Line| {
            view! {
                <path class=format!("stroke {}", line.tone.class()) stroke-dasharray=line.tone.dashes()
                    d=path(&line.points, span, step_ms, max)></path>
            }
        };
        lines.with(|lines| lines.iter().map(line).collect_view())
    };
    view! {
        <svg width="100%" height="100%" viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio="none">
            {drawn}
        </svg>
    }
}

/// A line through the middle of the interval that is read out.
#[component]
fn Cursor(shown: Shown) -> impl IntoView {
    move || {
        let at_ms = shown.cursor_ms()?;
        let middle_ms = at_ms + shown.step_ms.get() / 2;
        let x = format!("{:.2}%", time_place(middle_ms, shown.span.get()) * 100.0);
        Some(view! { <line class="cursor" x1=x.clone() x2=x y1="0" y2="100%"></line> })
    }
}
