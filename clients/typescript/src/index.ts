/** A client of Weir, a fair rate limiter. */
export type { Decision, Place, Reason, Settled, SlotState } from "./answer.js";
export { WeirError } from "./error.js";
export type { Hooks, RequestEvent, ResponseEvent } from "./hooks.js";
export type { CallOptions, WeirOptions } from "./options.js";
export type {
  Item,
  Items,
  OfBudget,
  OfGuard,
  OfLimit,
  OfMeter,
  OfMeters,
  OfOverload,
  PlaceQuestion,
  Question,
  ReportedOutcome,
} from "./question.js";
export { Reservation } from "./reservation.js";
export type { Outcome } from "./scope.js";
export { Slot } from "./slot.js";
export { Weir } from "./weir.js";
