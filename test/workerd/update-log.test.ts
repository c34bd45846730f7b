import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createDurableDatabase } from "../../src/storage/database.js";
import { describeUpdateLog } from "../support/update-log-contract.js";

describeUpdateLog(async (name, work) => {
  await runInDurableObject(env.PROBE.getByName(name), (_, { storage }) =>
    work(createDurableDatabase(storage)),
  );
});
