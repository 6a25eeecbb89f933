// A settlement whose first answer is lost on its way: told again whatever the options say.
import { client, tell } from "./client.mjs";
import { settledLeft } from "./left.mjs";

const weir = client();
const question = { tenant: "acme", budget: "tokens", cost: 100 };
const { value } = await weir.reserve(question, (reservation) => reservation.used(30));
tell({ value: value ?? null, left: await settledLeft(weir, 970) });
