//! The form of the rules that put tenants into tiers.

use leptos::prelude::*;
use serde_json::Value;

use super::draft_field::is_at;
use super::editor::Editor;
use crate::components::field::options as options_of;
use crate::context::Console;
use crate::features::policy::model::tier_rules::{TierRule, earlier, read, written};

const POINTER: &str = "/tier_rules";

/// A row a rule; for who may not change anything, to read.
#[component]
pub fn TierRules() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let rules = Memo::new(move |_| read(editor.at(POINTER).as_ref()));
    let count = Memo::new(move |_| rules.with(Vec::len));
    let change =
        Callback::new(move |rules: Vec<TierRule>| editor.put(POINTER, Some(written(&rules))));
    let add = move |_| {
        let mut now = rules.get_untracked();
        now.push(TierRule::default());
        change.run(now);
    };
    let error = move || {
        let flaw = editor.flaw().filter(|flaw| is_at(flaw, POINTER))?;
        let text = format!(
            "{}: {}",
            crate::difference::words(&flaw.pointer),
            flaw.message
        );
        Some(view! { <p class="field-error" data-testid="error-tier-rules">{text}</p> })
    };
    view! {
        <section class="tier-rules" aria-labelledby="tier-rules">
            <h3 id="tier-rules">"Tier rules"</h3>
            <p class="hint">"The tier of a tenant by how its name begins. The first rule that matches counts."</p>
            <For each=move || 0..count.get() key=|place| *place let:place>
                <Rule place rules change/>
            </For>
            {error}
            {move || console.can_change().then(|| view! {
                <button type="button" data-testid="add-rule" on:click=add>"Add a rule"</button>
            })}
        </section>
    }
}

#[component]
fn Rule(
    place: usize,
    rules: Memo<Vec<TierRule>>,
    change: Callback<Vec<TierRule>>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let rule =
        Memo::new(move |_| rules.with(|rules| rules.get(place).cloned().unwrap_or_default()));
    let edit = move |edit: &dyn Fn(&mut Vec<TierRule>)| {
        let mut now = rules.get_untracked();
        edit(&mut now);
        change.run(now);
    };
    let tier = Signal::derive(move || rule.with(|rule| rule.tier.clone()));
    let tiers = Signal::derive(move || {
        let named = editor.at("/tiers");
        let mut names: Vec<String> = named
            .as_ref()
            .and_then(Value::as_object)
            .map(|tiers| tiers.keys().cloned().collect())
            .unwrap_or_default();
        let now = tier.get();
        if !names.contains(&now) {
            names.insert(0, now);
        }
        names
            .into_iter()
            .map(|name| (name.clone(), name))
            .collect::<Vec<_>>()
    });
    let number = place + 1;
    move || {
        if !console.can_change() {
            let rule = rule.get();
            return view! { <p>{format!("{}… is {}", rule.prefix, rule.tier)}</p> }.into_any();
        }
        view! {
            <div class="tier-rule">
                <input
                    type="text"
                    data-testid="rule-prefix"
                    aria-label=format!("Names that begin with, rule {number}")
                    placeholder="names begin with"
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=move || rule.with(|rule| rule.prefix.clone())
                    on:input=move |event| {
                        let text = event_target_value(&event);
                        edit(&|rules| if let Some(rule) = rules.get_mut(place) { rule.prefix.clone_from(&text) });
                    }
                />
                <select
                    data-testid="rule-tier"
                    aria-label=format!("Tier, rule {number}")
                    on:change=move |event| {
                        let text = event_target_value(&event);
                        edit(&|rules| if let Some(rule) = rules.get_mut(place) { rule.tier.clone_from(&text) });
                    }
                >
                    {options_of(tier, tiers)}
                </select>
                <button type="button" aria-label=format!("Rule {number} before the one above") disabled=place == 0
                    on:click=move |_| edit(&|rules| earlier(rules, place))>"↑"</button>
                <button type="button" data-testid="remove-rule" aria-label=format!("Remove rule {number}")
                    on:click=move |_| edit(&|rules| { rules.remove(place); })>"Remove"</button>
            </div>
        }
        .into_any()
    }
}
