// Files of variables, by which a deployment is told its secrets and settings.

import { readFileSync } from "node:fs";
import { Mistake } from "./mistake.js";

// The variables of a file: `NAME=value`, one a line; lines that are empty or begin with # say nothing.
export const readVariables = (file) => {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Mistake(`${file} cannot be read: ${error.message}`);
  }
  const variables = {};
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) {
      continue;
    }
    const parts = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (parts === null) {
      throw new Mistake(`${file}:${index + 1}: not of the form NAME=value`);
    }
    variables[parts[1]] = parts[2].replace(/^(["'])(.*)\1$/, "$2");
  }
  return variables;
};
