//! What each role permits.

use leptos::prelude::*;
use weir_shared::wire::role::Role;

use crate::features::access::model::roles::{ABILITIES, Ability, purpose};

/// The table of roles.
#[component]
pub fn Roles() -> impl IntoView {
    let heads = ABILITIES
        .iter()
        .map(|ability| view! { <th scope="col" class="ability">{ability.name}</th> })
        .collect_view();
    let rows = Role::ALL.into_iter().map(row).collect_view();
    view! {
        <section class="roles" aria-labelledby="roles">
            <div class="section-head"><h2 id="roles">"Roles"</h2></div>
            <div class="scroll" role="region" aria-label="Roles" tabindex="0">
                <table class="cards">
                    <thead><tr><th scope="col">"Role"</th><th scope="col">"For"</th>{heads}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <p class="hint">"A viewer, an editor and an admin log in here. An agent, a service and a tenant use the API alone."</p>
        </section>
    }
}

fn row(role: Role) -> AnyView {
    let cell = |ability: &Ability| {
        let (mark, words) = if ability.is_of(role) {
            ("✓", "yes")
        } else {
            ("–", "no")
        };
        view! {
            <td class="ability" data-has=words data-label=ability.name><span aria-hidden="true">{mark}</span><span class="unseen">{words}</span></td>
        }
    };
    view! {
        <tr>
            <th scope="row">{role.name()}</th>
            <td class="purpose" data-label="For">{purpose(role)}</td>
            {ABILITIES.iter().map(cell).collect_view()}
        </tr>
    }
    .into_any()
}
