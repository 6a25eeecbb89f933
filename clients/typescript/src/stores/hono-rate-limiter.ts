/** A store of `hono-rate-limiter` (0.5): `rateLimiter({ limit: 100, keyGenerator, store: new WeirStore(weir, "per_ip") })`. */
import type { HonoConfigType, Store } from "hono-rate-limiter";
import { HitStore } from "./hits.js";

export class WeirStore extends HitStore implements Store {
  init(options: HonoConfigType): void {
    this.start(options);
  }
}
