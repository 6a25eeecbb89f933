// What several instances of `weir serve` share: a bucket in which the state of all objects is, as a file says.

import { readFileSync } from "node:fs";
import { Mistake } from "./mistake.js";

// Instances know each other by the key: as many bytes as `openssl rand -hex 32` prints are enough.
const KEY_BYTES_MIN = 32;

// The part of the configuration, of a file such as
// `{"bucket": "s3://weir/production", "options": ["aws_region=eu-central-1"], "key": "…"}`. `address` is where the other
// instances reach this one.
export const readCluster = (file, address) => {
  let said;
  try {
    said = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Mistake(`${file} cannot be read: ${error.message}`);
  }
  const { bucket, options = [], key, ...others } = Object(said);
  const other = Object.keys(others)[0];
  const wrong =
    (other !== undefined && `/${other} is no field of it`) ||
    (!/^s3:\/\/./.test(bucket) && "/bucket is not of the form s3://NAME/PREFIX") ||
    (!isOptions(options) && "/options is not a list of texts of the form NAME=VALUE") ||
    (!isKey(key) && `/key is not a text of at least ${KEY_BYTES_MIN} bytes`) ||
    (!/.:\d+$/.test(address ?? "") && "--cluster-address HOST:PORT is required with it");
  if (wrong) {
    throw new Mistake(`${file}: ${wrong}`);
  }
  return { bucket, options, key, address };
};

const isOptions = (options) =>
  Array.isArray(options) && options.every((option) => typeof option === "string" && /^[^=]+=/.test(option));

const isKey = (key) => typeof key === "string" && Buffer.byteLength(key) >= KEY_BYTES_MIN;
