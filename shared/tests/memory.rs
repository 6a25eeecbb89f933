//! What is kept for each tenant stays within its bound. `cargo run --example memory -p weir-shared` prints
//! how much it is.

mod kept;

use kept::KEPT;

const TENANTS: u32 = 10_000;

#[test]
fn what_is_kept_for_a_tenant_is_bounded() {
    for kept in KEPT {
        let tenants = u64::from(TENANTS).min(kept.tenants_max);
        let tenants = u32::try_from(tenants).unwrap();
        let bytes = (kept.bytes)(tenants).div_ceil(u64::from(tenants));
        println!("{} ({}): {bytes} bytes a tenant", kept.what, kept.place);
        assert!(bytes > 0, "{} is not measured", kept.what);
        assert!(
            bytes <= kept.bytes_max,
            "{}: {bytes} bytes a tenant, at most {}",
            kept.what,
            kept.bytes_max
        );
    }
}
