/** A store of `express-rate-limit` (7 and 8): `rateLimit({ limit: 100, store: new WeirStore(weir, "per_ip") })`. */
import type { Options, Store } from "express-rate-limit";
import { HitStore } from "./hits.js";

export class WeirStore extends HitStore implements Store {
  init(options: Options): void {
    this.start(options);
  }
}
