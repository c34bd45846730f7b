// Random histories through a closed log, each compared with real Y.Docs: through a model without storage, and through the
// log of a room over a real SQLite.
import * as prng from "lib0/prng";
import { expect, test, vi } from "vitest";
import { expectConverged } from "./history-expectations.js";
import { ModelLog } from "./model-log.js";
import { runHistory } from "./random-history.js";
import { forSeeds, propertyTimeoutMs } from "./seeds.js";
import { StoredLog } from "./stored-log.js";

vi.setConfig({ testTimeout: propertyTimeoutMs });

test("[LOG 1.7, LOG 3] after any history the log, its clients and a Y.Doc hold the same", () => {
  forSeeds(250, (random) => {
    const log = new ModelLog(prng.int32(random, 2, 12));
    const outcome = runHistory(random, log, {
      steps: prng.int32(random, 20, 200),
      clients: prng.int32(random, 2, 5),
    });
    expectConverged(log, outcome);
  });
});

test("[LOG 2, LOG 3, D4, S6] so they do over stored rows, with folds, hibernations, crashes and failing writes", () => {
  let folds = 0;
  forSeeds(120, (random) => {
    const log = new StoredLog(random);
    const outcome = runHistory(random, log, {
      steps: prng.int32(random, 20, 400),
      clients: prng.int32(random, 2, 5),
    });
    expectConverged(log, outcome);
    log.store();
    const before = log.rows();
    log.wake();
    expectConverged(log, outcome);
    log.store();
    log.expectUnchangedSince(before);
    folds += before.filter(({ seq, last, frames }) => seq !== last && frames === 1).length;
  });
  expect(folds).toBeGreaterThan(0);
});
