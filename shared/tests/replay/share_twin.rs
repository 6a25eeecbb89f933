//! The rules of shared budgets in 64-bit floats, operation by operation as the vectors were made, to tell rounding from
//! a difference.

use weir_shared::fairness::share::Rule;

use super::decision::ReferenceDecision;

struct Tenant {
    name: String,
    weight: f64,
    used: f64,
}

/// Tenants of one window.
pub struct Twin {
    rule: Rule,
    limit: f64,
    window_ms: u64,
    window: u64,
    tenants: Vec<Tenant>,
}

/// One tenant's view.
struct View {
    index: usize,
    weights: f64,
    pool: f64,
}

impl Twin {
    pub fn new(rule: Rule, limit: u64, window_ms: u64) -> Self {
        Self {
            rule,
            limit: limit as f64,
            window_ms,
            window: 0,
            tenants: Vec::new(),
        }
    }

    /// Whether the tenant, or any, is there in this window.
    pub fn knows(&self, tenant: Option<&str>, window: u64) -> bool {
        let is_meant = |one: &Tenant| tenant.is_none_or(|name| one.name == name);
        window == self.window && self.tenants.iter().any(is_meant)
    }

    pub fn check(&mut self, name: &str, weight: f64, cost: u64, now: u64) -> ReferenceDecision {
        let window = now / self.window_ms;
        if window != self.window {
            self.window = window;
            self.tenants.clear();
        }
        let index = self.tenants.iter().position(|one| one.name == name);
        let index = index.unwrap_or_else(|| {
            self.tenants.push(Tenant {
                name: name.to_owned(),
                weight,
                used: 0.0,
            });
            self.tenants.len() - 1
        });
        self.tenants[index].weight = weight;
        let cost = cost as f64;
        let used = self.tenants.iter().map(|one| one.used).sum::<f64>();
        let view = View {
            index,
            weights: self.tenants.iter().map(|one| one.weight).sum(),
            pool: self.limit - used,
        };
        let (limit, allowed) = match self.rule {
            Rule::Fair | Rule::Weighted => self.capped(&view, cost),
            _ => self.escrowed(&view, cost),
        };
        let tenant = &mut self.tenants[index];
        if allowed {
            tenant.used += cost;
        }
        let reset_at = (window + 1) * self.window_ms;
        ReferenceDecision {
            allowed,
            limit,
            remaining: (limit - tenant.used).max(0.0),
            reset_at: reset_at as f64,
            retry_after_ms: if allowed {
                0.0
            } else {
                (reset_at - now) as f64
            },
        }
    }

    fn capped(&self, view: &View, cost: f64) -> (f64, bool) {
        let tenant = &self.tenants[view.index];
        let share = match self.rule {
            Rule::Fair => self.limit / view.weights,
            _ => tenant.weight / view.weights * self.limit,
        };
        let cap = share.floor().max(1.0);
        (cap, cost <= view.pool && tenant.used + cost <= cap)
    }

    fn escrowed(&self, view: &View, cost: f64) -> (f64, bool) {
        let guarantee = |tenant: &Tenant| (tenant.weight * self.limit / view.weights).floor();
        let tenant = &self.tenants[view.index];
        let own = guarantee(tenant);
        if cost > view.pool {
            return (own.max(tenant.used), false);
        }
        if tenant.used + cost <= own {
            return (own, true);
        }
        let others = self.tenants.iter().enumerate();
        let others = others.filter(|(index, _)| *index != view.index);
        let kept: f64 = others
            .map(|(_, other)| (guarantee(other) - other.used).max(0.0))
            .sum();
        let surplus = (view.pool - kept).max(0.0);
        let wanted = tenant.used + cost - own;
        let ceiling = own + wanted.min(cost).min(surplus);
        (ceiling, tenant.used + cost <= ceiling)
    }
}
