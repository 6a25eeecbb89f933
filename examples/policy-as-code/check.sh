#!/bin/sh
# Blocks a change of the policy that starves a tenant. WEIR_URL and WEIR_TOKEN, a viewer's, are secrets of the CI.
policy=${1:-policy.json}
weir validate "$policy" || exit 1
weir plan "$policy" --markdown > plan.md
case $? in
  0 | 2) cat plan.md ;;
  3) cat plan.md && echo "Blocked: this change starves a tenant." >&2 && exit 1 ;;
  *) exit 1 ;;
esac
