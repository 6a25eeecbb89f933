//! The checks of a route, a row each, and what becomes of requests without a route.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::draft_field::{DraftField, is_at};
use super::editor::Editor;
use super::json_part::JsonPart;
use crate::components::field::SelectField;
use crate::context::Console;
use crate::features::policy::model::checks::{
    COST, CheckLine, KEY_FIXED, KEY_HEADER, KEYS, WAIT, added, charging, keyed, removed, rules,
};
use crate::features::policy::model::unrouted;
use crate::what::What;

/// A row a check of the route at a pointer; for who may not change anything, to read.
#[component]
pub fn RouteChecks(
    /// Where the checks stand.
    pointer: String,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let at = StoredValue::new(pointer);
    let count = Memo::new(move |_| {
        let checks = at.with_value(|at| editor.at(at));
        checks
            .as_ref()
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    });
    let add = move |_| {
        editor.edit(|draft| {
            at.with_value(|at| {
                let list = added(draft.at(at), draft.value());
                draft.put(at, Some(list));
            });
        });
    };
    // What is wrong with the list as a whole.
    let error = move || {
        let flaw = editor.flaw()?;
        at.with_value(|at| flaw.pointer == *at)
            .then(|| view! { <p class="field-error" data-testid="error-checks">{flaw.message}</p> })
    };
    view! {
        <section class="checks" aria-label="Checks">
            <h4>"Checks"</h4>
            <p class="hint">"What a request is charged to, all or nothing."</p>
            {move || (count.get() == 0).then(|| view! {
                <p class="state" data-testid="state-empty">"Nothing: every request that this route takes is admitted."</p>
            })}
            <ol class="check-list">
                <For each=move || 0..count.get() key=|place| *place let:place>
                    <li class="check-row" data-testid="check-row">{move || {
                        let parent = at.with_value(|at| format!("{at}/{place}"));
                        match console.can_change() {
                            true => view! { <Check list=at parent place/> }.into_any(),
                            false => read(editor, parent),
                        }
                    }}</li>
                </For>
            </ol>
            {error}
            {move || console.can_change().then(|| view! {
                <button type="button" data-testid="add-check" on:click=add>"Add a check"</button>
            })}
        </section>
    }
}

fn read(editor: Editor, parent: String) -> AnyView {
    let words = move || {
        let check = editor.at(&parent).unwrap_or(Value::Null);
        CheckLine::of(&check).words(&check)
    };
    view! { <p>{words}</p> }.into_any()
}

/// A list to choose from that shows what the draft has, and puts what is chosen.
fn choice(now: Memo<String>, put: impl Fn(String) + 'static) -> RwSignal<String> {
    let value = RwSignal::new(now.get_untracked());
    Effect::new(move |_| {
        let now = now.get();
        if value.get_untracked() != now {
            value.set(now);
        }
    });
    Effect::new(move |before: Option<()>| {
        let chosen = value.get();
        if before.is_some() && chosen != now.get_untracked() {
            put(chosen);
        }
    });
    value
}

#[component]
fn Check(list: StoredValue<String>, parent: String, place: usize) -> impl IntoView {
    let editor = expect_context::<Editor>();
    let at = StoredValue::new(parent);
    let line = Memo::new(move |_| {
        let check = at.with_value(|at| editor.at(at)).unwrap_or(Value::Null);
        CheckLine::of(&check)
    });
    let edit = move |change: &dyn Fn(&Value) -> Value| {
        editor.edit(|draft| {
            at.with_value(|at| {
                let check = draft.at(at).cloned().unwrap_or_else(|| json!({}));
                draft.put(at, Some(change(&check)));
            });
        });
    };
    let rule = choice(
        Memo::new(move |_| line.with(CheckLine::rule)),
        move |chosen| {
            if let Some(what) = What::parse(&chosen) {
                edit(&|check| charging(check, &what));
            }
        },
    );
    let key = choice(
        Memo::new(move |_| line.with(|line| line.key.to_owned())),
        move |chosen| edit(&|check| keyed(check, &chosen)),
    );
    let all = Signal::derive(move || {
        let chosen = line.with(CheckLine::rule);
        editor.draft.with(|draft| {
            let draft = draft.as_ref();
            draft.map_or_else(Vec::new, |draft| rules(draft.value(), &chosen))
        })
    });
    let keys = Signal::derive(move || {
        let parts = line.with(|line| line.key == "keys");
        let offered = KEYS
            .into_iter()
            .filter(move |(key, _)| parts || *key != "keys");
        let owned = |(key, label): (&str, &str)| (key.to_owned(), label.to_owned());
        offered.map(owned).collect::<Vec<_>>()
    });
    // What is wrong with the check, but for what has a field of its own.
    let error = move |fields: &'static [&'static str]| {
        Signal::derive(move || {
            let flaw = editor.flaw()?;
            let here = at.with_value(|at| {
                fields
                    .iter()
                    .any(|field| is_at(&flaw, &format!("{at}{field}")))
            });
            here.then_some(flaw.message)
        })
    };
    let rule_error = Signal::derive(move || {
        let whole = editor
            .flaw()
            .filter(|flaw| at.with_value(|at| flaw.pointer == *at));
        let of_rule = error(&["/budget", "/limit", "/meter", "/guard", "/overload"]);
        whole.map(|flaw| flaw.message).or_else(|| of_rule.get())
    });
    let has = move |what: fn(&CheckLine) -> bool| Memo::new(move |_| line.with(what));
    let (has_key, has_cost, has_wait) = (
        has(CheckLine::has_key),
        has(CheckLine::has_cost),
        has(CheckLine::has_wait),
    );
    let named = Memo::new(move |_| line.with(|line| line.key));
    let found = Memo::new(move |_| line.with(|line| line.cost_from.clone()));
    let own = move |field| {
        let parent = at.get_value();
        view! { <DraftField field parent/> }
    };
    let of_key = move |field| {
        let parent = at.with_value(|at| format!("{at}/key"));
        view! { <DraftField field parent/> }
    };
    let plain = move |_| {
        editor.edit(|draft| draft.put(&at.with_value(|at| format!("{at}/cost")), None));
    };
    let remove = move |_| {
        editor.edit(|draft| {
            list.with_value(|list| {
                let rest = removed(draft.at(list), place);
                draft.put(list, Some(rest));
            });
        });
    };
    view! {
        <div class="fields">
            <SelectField label=format!("Check {}", place + 1) name="check-rule" value=rule options=all error=rule_error/>
            {move || has_key.get().then(|| view! {
                <SelectField label="Key" name="check-key" value=key options=keys error=error(&["/key", "/keys"])
                    hint="Within the limit: each key is counted separately."/>
            })}
            {move || (has_key.get() && named.get() == "header").then(|| of_key(KEY_HEADER))}
            {move || (has_key.get() && named.get() == "fixed").then(|| of_key(KEY_FIXED))}
            {move || has_cost.get().then(|| own(COST))}
            {move || found.get().map(|from| view! {
                <div class="field">
                    <strong>"Cost"</strong>
                    <p data-testid="check-cost-from">{from}</p>
                    <p class="hint">"Its details are in the JSON of the whole route."</p>
                    <button type="button" class="link" on:click=plain>"Make it a number"</button>
                </div>
            })}
            {move || has_wait.get().then(|| own(WAIT))}
        </div>
        <button type="button" data-testid="remove-check" aria-label=format!("Remove check {}", place + 1) on:click=remove>"Remove"</button>
    }
}

/// What becomes of requests without a route.
#[component]
pub fn Unrouted() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let chosen = Memo::new(move |_| {
        let value = editor.at(unrouted::UNROUTED);
        unrouted::chosen(value.as_ref()).to_owned()
    });
    let value = choice(chosen, move |choice| {
        let last = editor.unrouted.get_value();
        editor.edit(|draft| {
            let now = draft.at(unrouted::UNROUTED).cloned();
            let base = draft.base_at(unrouted::UNROUTED);
            let value = unrouted::with(&choice, [now.as_ref(), last.as_ref(), base]);
            draft.put(unrouted::UNROUTED, Some(value));
            // An origin that is no longer in the draft is kept while the page is open.
            if unrouted::chosen(now.as_ref()) == "forward" {
                editor.unrouted.set_value(now);
            }
        });
    });
    let owned = |(value, label): (&str, &str)| (value.to_owned(), label.to_owned());
    let options = Signal::stored(unrouted::CHOICES.map(owned).to_vec());
    let error = Signal::derive(move || {
        let flaw = editor
            .flaw()
            .filter(|flaw| is_at(flaw, unrouted::UNROUTED))?;
        let own = unrouted::FIELDS
            .iter()
            .any(|field| is_at(&flaw, &format!("{}/{}", unrouted::FORWARD, field.name)));
        (!own).then_some(flaw.message)
    });
    let forwards = Memo::new(move |_| chosen.with(|chosen| chosen == "forward"));
    let origin = move || {
        forwards.get().then(|| {
            let each = unrouted::FIELDS.into_iter();
            let each = each.map(|field| {
                view! { <DraftField field parent=unrouted::FORWARD.to_owned()/> }
            });
            each.collect_view()
        })
    };
    let fields = move || {
        if !console.can_change() {
            let words = move || unrouted::words(editor.at(unrouted::UNROUTED).as_ref());
            return view! {
                <dl class="entry-facts loose"><div><dt>"Requests without a route"</dt><dd>{words}</dd></div></dl>
            }
            .into_any();
        }
        view! {
            <div class="fields loose">
                <SelectField label="Requests without a route" name="unrouted" value options error
                    hint="What becomes of requests that none of the routes takes."/>
                {origin}
            </div>
        }
        .into_any()
    };
    view! {
        {fields}
        <JsonPart pointer=unrouted::UNROUTED label="Requests without a route, as JSON"
            hint="Also what has no field above: headers and limits of the origin."/>
    }
}
