//! What the deployment uses of the platform for what it decides, and what that costs a month.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::operator::costs::CostsReply;

use crate::features::overview::model::costs::{CostRow, rows};
use crate::features::overview::model::money::{
    self, Item, Meter, MoneyRow, Prices, dollars, price,
};
use crate::format;

/// Where the prices are kept.
const KEPT: &str = "weir.prices";

/// Money a month at the present rate; below, calls of objects and rows written in all.
#[component]
pub fn Costs(
    /// What was counted.
    costs: Signal<Option<Arc<CostsReply>>>,
) -> impl IntoView {
    let lost = move || {
        costs.with(|reply| {
            let regions = reply.iter().flat_map(|reply| &reply.regions);
            let lost = regions.filter(|region| !region.reachable);
            let lost: Vec<&str> = lost.map(|region| region.region.as_str()).collect();
            (!lost.is_empty()).then(|| format!(" Without {}.", lost.join(", ")))
        })
    };
    let decisions =
        move || costs.with(|reply| reply.as_ref().map(|reply| format::count(reply.decisions.0)));
    let rows = move || {
        costs.with(|reply| {
            reply
                .as_ref()
                .map(|reply| rows(reply).into_iter().map(row).collect_view())
        })
    };
    view! {
        <Month costs/>
        <details class="more-figures">
            <summary>"Used since counting began"</summary>
            <div class="scroll" tabindex="0" role="region" aria-label="Used of the platform since counting began">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Used of the platform"</th>
                            <th scope="col" class="figure">"Per million decisions"</th>
                            <th scope="col" class="figure">"In all"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <p class="muted note">"For "{decisions}" decisions since counting began."{lost}</p>
        </details>
    }
}

fn row(row: CostRow) -> impl IntoView {
    view! {
        <tr class:part=row.part>
            <th scope="row">{row.name}</th>
            <td class="figure">{row.per_million}</td>
            <td class="figure">{row.total}</td>
        </tr>
    }
}

#[component]
fn Month(costs: Signal<Option<Arc<CostsReply>>>) -> impl IntoView {
    let meter = StoredValue::new(Meter::default());
    let per_s = Memo::new(move |before: Option<&Option<money::PerS>>| {
        let now = costs.with(|reply| {
            let reply = reply.as_ref()?;
            meter.try_update_value(|meter| meter.read(reply)).flatten()
        });
        now.or(before.copied().flatten())
    });
    let prices = RwSignal::new(Prices::parse(&kept()));
    let texts = Item::ALL.map(|item| RwSignal::new(prices.get_untracked().of(item).to_string()));
    let told = Memo::new(move |_| per_s.get().map(|per_s| money::rows(per_s, prices.get())));
    let words = move || match told.get() {
        Some(rows) => money::words(&rows),
        None => "Measuring the present rate: it takes some ten seconds.".to_owned(),
    };
    let line = move |item: Item| {
        let cell = move |of: fn(&MoneyRow) -> String| {
            move || {
                told.with(|rows| {
                    let row = rows.as_ref()?.iter().find(|row| row.item == item)?;
                    Some(of(row))
                })
                .unwrap_or_else(|| format::UNKNOWN.to_owned())
            }
        };
        let text = texts[item as usize];
        let invalid = move || text.with(|text| price(text).is_none());
        let typed = move |event| {
            text.set(event_target_value(&event));
            if let Some(dollars) = text.with_untracked(|text| price(text)) {
                prices.update(|prices| *prices = prices.with(item, dollars));
                keep(&prices.get_untracked().text());
            }
        };
        view! {
            <tr>
                <th scope="row">{item.name()}</th>
                <td class="figure" data-label="A month">{cell(|row| format::count(row.a_month.round() as u128))}</td>
                <td class="figure" data-label="$ per million">
                    <input
                        class="price"
                        inputmode="decimal"
                        autocomplete="off"
                        aria-label=format!("Dollars for a million: {}", item.name())
                        aria-invalid=move || invalid().then_some("true")
                        data-testid=format!("price-{}", item.slug())
                        prop:value=text
                        on:input=typed
                    />
                </td>
                <td class="figure" data-label="$ a month" data-testid=format!("money-{}", item.slug())>{cell(|row| dollars(row.dollars))}</td>
            </tr>
        }
    };
    let reset = move |_| {
        let list = Prices::default();
        prices.set(list);
        for item in Item::ALL {
            texts[item as usize].set(list.of(item).to_string());
        }
        keep(&list.text());
    };
    let differs = move || {
        let typed = texts
            .iter()
            .any(|text| text.with(|text| price(text).is_none()));
        (typed || prices.get() != Prices::default()).then(|| {
            view! {
                " "
                <button type="button" class="link" data-testid="list-prices" on:click=reset>"Use list prices"</button>
            }
        })
    };
    view! {
        <p class="said" data-testid="money">{words}</p>
        <div class="scroll" tabindex="0" role="region" aria-label="What it costs a month">
            <table class="cards">
                <thead>
                    <tr>
                        <th scope="col">"Paid for"</th>
                        <th scope="col" class="figure">"A month, at this rate"</th>
                        <th scope="col" class="figure">"$ per million"</th>
                        <th scope="col" class="figure">"$ a month"</th>
                    </tr>
                </thead>
                <tbody>{Item::ALL.map(line).into_iter().collect_view()}</tbody>
            </table>
        </div>
        <p class="muted note">"Prices are kept in this browser. What a plan includes, and traffic of other Workers, is not counted."{differs}</p>
    }
}

fn kept() -> String {
    let storage = window().local_storage().ok().flatten();
    let text = storage.and_then(|storage| storage.get_item(KEPT).ok().flatten());
    text.unwrap_or_default()
}

/// A browser that keeps nothing begins with the default prices each time.
fn keep(text: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(KEPT, text);
    }
}
