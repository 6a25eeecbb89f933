//! The rows on the screen. Each is one row of the list, whoever stands in it.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::tenants::TenantRow;

use super::feed::Feed;
use crate::address::Page;
use crate::components::spark::Sparkline;
use crate::features::tenants::model::column::Column;
use crate::features::tenants::model::rows::Figures;
use crate::format;

/// One row.
#[component]
pub fn Row(
    /// Its place in the list, from 0.
    index: usize,
    /// What was read.
    feed: Feed,
    /// Whether the figures are of a chosen budget.
    chosen: Signal<bool>,
    /// The place of the row that Tab leads to.
    focused: RwSignal<usize>,
) -> impl IntoView {
    let row = Memo::new(move |_| feed.rows.with(|rows| rows.at(index)));
    let name = Memo::new(move |_| row.with(|row| row.as_ref().map(|row| row.tenant.clone())));
    let figures = Memo::new(move |_| {
        row.with(|row| {
            let of = |row: &Arc<TenantRow>| {
                feed.rows
                    .with(|rows| Figures::of(row, chosen.get(), rows.budget()))
            };
            row.as_ref().map(of)
        })
    });
    let trend = Memo::new(move |_| {
        let name = name.get();
        let per_s = |name: &String| feed.trends.with(|trends| trends.per_s(name));
        name.as_ref().map(per_s).unwrap_or_default()
    });
    let text = move |of: fn(&TenantRow) -> String| {
        move || row.with(|row| row.as_ref().map(|row| of(row)).unwrap_or_default())
    };
    let figure = move |of: fn(&Figures) -> String| {
        move || figures.with(|figures| figures.as_ref().map(of).unwrap_or_default())
    };
    let address = move || name.with(|name| name.clone().map(|name| Page::Tenant(name).address()));
    let tabindex = move || if focused.get() == index { "0" } else { "-1" };
    let note = move || {
        row.with(|row| {
            let row = row.as_ref()?;
            (row.overrides > 0).then(|| {
                let many = usize::try_from(row.overrides).unwrap_or(usize::MAX);
                view! { <span class="tag">{format::counted(many, "override")}</span> }
            })
        })
    };
    view! {
        <tr
            aria-rowindex=(index + 2).to_string()
            data-testid=move || name.with(Option::is_some).then_some("tenant-row")
            data-tenant=name
        >
            <th scope="row" class="name">
                <a
                    data-testid="tenant-link"
                    data-row=index.to_string()
                    href=address
                    title=name
                    tabindex=tabindex
                    on:focus=move |_| focused.set(index)
                >
                    {move || name.get().unwrap_or_else(|| "…".to_owned())}
                </a>
            </th>
            <td class="tier" data-label=Column::Tier.heading()>
                {text(|row| row.tier.clone().unwrap_or_else(|| "refused".to_owned()))}" "{note}
            </td>
            <td class="figure" data-label=Column::Weight.heading() data-testid="weight" data-value=text(|row| row.weight.0.to_string())>
                {text(|row| format::weight(row.weight.0))}
            </td>
            <td class="figure" data-label=Column::Guarantee.heading() data-testid="guarantee" data-value=figure(|figures| bare(figures.guarantee))>
                {figure(|figures| figures.guarantee.map_or_else(
                    || format::UNKNOWN.to_owned(),
                    |units| format::count(units.into()),
                ))}
            </td>
            <td class="figure" data-label=Column::Used.heading() data-testid="used" data-value=figure(|figures| figures.used.to_string())>
                {figure(|figures| format::count(figures.used))}
            </td>
            <td class="figure" data-label=Column::Borrowed.heading() data-testid="borrowed" data-value=figure(|figures| figures.borrowed.to_string())>
                {figure(|figures| format::count(figures.borrowed))}
            </td>
            <td class="figure" data-label=Column::Denied.heading() data-testid="denied-calls" data-value=figure(|figures| figures.denied.to_string()) class:denied=move || figures.with(|figures| figures.is_some_and(|one| one.denied > 0))>
                {figure(|figures| format::count(figures.denied))}
            </td>
            <td class="trend" data-label=Column::Trend.heading()>
                <Sparkline values=trend/>
                <span class="figure">
                    {move || trend.with(|trend| trend.last().map(|per_s| format::rate(Some(*per_s))))}
                </span>
            </td>
        </tr>
    }
}

fn bare(units: Option<u64>) -> String {
    units.map(|units| units.to_string()).unwrap_or_default()
}
