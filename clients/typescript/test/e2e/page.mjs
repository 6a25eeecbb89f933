// A page in a browser.
import { everywhere } from "./everywhere.mjs";

globalThis.everywhere = everywhere;
