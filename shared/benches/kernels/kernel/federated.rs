//! Weighted fair escrow in one region over a pool that the regions share.

use std::hint::black_box;

use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::region_pool::RegionPool;

use super::random::Access;
use super::{Kernel, START, tenant, weight};

/// Units that each tenant may have before the region asks its pool again.
const EACH: u64 = 1 << 30;

/// One kernel for each number of tenants.
pub fn kernels(sizes: &[u64]) -> Vec<Kernel> {
    sizes.iter().flat_map(|tenants| of(*tenants)).collect()
}

fn of(tenants: u64) -> [Kernel; 2] {
    let mut pool = RegionPool::new(1 << 52, 3_600_000).expect("in range");
    let mut region = FederatedEscrow::new("weur");
    let mut check = move |tenant: &str, index: u64, cost: u64| {
        let decided = region.check(&mut pool, tenant, weight(index), cost, START);
        decided.expect("in bounds").admitted()
    };
    // The first leaves as much to each of the others as it has used itself.
    assert!(check("first", 0, EACH));
    let tenants_but_first = tenants - 1;
    for index in 0..tenants_but_first {
        assert!(check(&tenant(index), index, 1));
    }
    let mut others = check.clone();
    let order = Access::Uniform.draws(tenants_but_first, 65_536.min(4 * tenants as usize));
    let asked: Vec<(String, u64)> = order.iter().map(|one| (tenant(*one), *one)).collect();
    let denied = asked.clone();
    let (mut at, mut other_at) = (0, 0);
    [
        Kernel::new(
            format!("federated, admit, {} tenants", grouped(tenants)),
            move |times| {
                for _ in 0..times {
                    at = (at + 1) % asked.len();
                    let (name, index) = &asked[at];
                    assert!(black_box(check(name, *index, 1)), "within the guarantee");
                }
            },
        ),
        Kernel::new(
            format!("federated, deny, {} tenants", grouped(tenants)),
            move |times| {
                for _ in 0..times {
                    other_at = (other_at + 1) % denied.len();
                    let (name, index) = &denied[other_at];
                    assert!(
                        !black_box(others(name, *index, 1 << 52)),
                        "nobody has so many"
                    );
                }
            },
        ),
    ]
}

/// With a comma between thousands.
pub fn grouped(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}
