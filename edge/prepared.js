// Questions that come again in the same words, from the same bearer, at the same place. wasm decides them by the number of a
// slot and answers in numbers; what stands between these is kept here. No text crosses, and nothing is read or written twice.

import Worker from "./worker.js";

const { prepare, spend, number, template } = Worker.prototype;

// As many as wasm keeps (`PREPARED_MAX`), and it drops all at the same time: numbers of slots are given once.
const SLOTS_MAX = 1024;

// What `spend` gives back: its lowest bits, and above them for which template the numbers are.
const DECIDED = 1;
const FLUSHES = 2;

// Longer words are read each time: all that are kept take 4 MiB at most.
const WORDS_BYTES_MAX = 4096;

// By place, then by bearer, then by the words. A place is the region that a request is pinned to, or where it arrived.
const pinned = new Map();
const arrivals = new Map();
let slots = 0;

const forgetAll = () => {
  pinned.clear();
  arrivals.clear();
  slots = 0;
};

// A panic ends an instance of wasm with all its slots: the next one gives the same numbers to others.
const state = globalThis.__worker_init_state;
let instance = state.instanceId;

const forgetAnotherInstance = () => {
  if (state.instanceId !== instance) {
    instance = state.instanceId;
    forgetAll();
  }
};

// The hashes that were seen lately: what comes once is not kept.
const seen = new Uint32Array(4096);

// FNV-1a: short, and words that are made to collide take the place of their own kind alone.
const hashOf = (bytes) => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at++) {
    hash = Math.imul(hash ^ bytes[at], 0x01000193);
  }
  return hash >>> 0;
};

const within = (map, key) => {
  let inner = map.get(key);
  if (inner === undefined) {
    inner = new Map();
    map.set(key, inner);
  }
  return inner;
};

// The pieces of an answer between its numbers, line by line: body, `ratelimit-policy`, `ratelimit`, `weir-decision`,
// `retry-after`.
const piecesOf = (slot, shape) => template(slot, shape).split("\n").map((line) => line.split("\0"));

// The lines of an answer, or nothing where the question has to take the way of all. `flushes` says whether something is left
// to do afterwards.
const linesOf = (kept) => {
  const spent = spend(kept.slot);
  if ((spent & DECIDED) === 0) {
    kept.stands = spent !== 0;
    return undefined;
  }
  const shape = spent >>> 2;
  const pieces = (kept.shapes[shape] ??= piecesOf(kept.slot, shape));
  const lines = ["", "", "", "", ""];
  let next = 0;
  for (let line = 0; line < pieces.length; line++) {
    const parts = pieces[line];
    let text = parts[0];
    for (let at = 1; at < parts.length; at++) {
      text += number(next++) + parts[at];
    }
    lines[line] = text;
  }
  return { lines, flushes: (spent & FLUSHES) !== 0 };
};

const placeOf = ({ region, continent, longitude }) =>
  region === undefined ? [arrivals, `${continent}/${longitude}`] : [pinned, region];

const wordsOf = (asked) => {
  forgetAnotherInstance();
  const [places, place] = placeOf(asked);
  return places.get(place)?.get(asked.authorization);
};

// Whether a bearer has asked something that is prepared: then it is known.
export const isKept = (asked) => (wordsOf(asked)?.size ?? 0) > 0;

// Answers a question that is prepared, unless it is longer than it says.
export const again = (asked) => {
  const words = wordsOf(asked);
  const kept = words?.get(asked.text);
  if (kept === undefined || kept.length > asked.length) {
    return undefined;
  }
  const answer = linesOf(kept);
  if (!kept.stands) {
    words.delete(asked.text);
  }
  return answer;
};

// Prepares a question that was just answered, when it comes for the second time.
export const remember = (asked) => {
  const { authorization, region, continent, longitude, text, body } = asked;
  const length = body.byteLength;
  if (length > WORDS_BYTES_MAX) {
    return;
  }
  const hash = hashOf(body);
  if (seen[hash & 4095] !== hash) {
    seen[hash & 4095] = hash;
    return;
  }
  const slot = prepare(authorization, region, continent, longitude, body);
  if (slot === undefined) {
    return;
  }
  forgetAnotherInstance();
  if (slots === SLOTS_MAX) {
    forgetAll();
  }
  slots += 1;
  const [places, place] = placeOf(asked);
  within(within(places, place), authorization).set(text, { length, slot, shapes: [], stands: true });
};
