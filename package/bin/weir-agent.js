#!/usr/bin/env node
import { Mistake } from "../lib/mistake.js";
import { native } from "../lib/native.js";

try {
  process.exitCode = await native("weir-agent", process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Mistake)) {
    throw error;
  }
  console.error(`weir-agent: ${error.message}`);
  process.exitCode = 1;
}
