import { createMemoryDatabase } from "../../support/sqlite-database.js";
import { describeUpdateLog } from "../../support/update-log-contract.js";

describeUpdateLog(async (_name, work) => work(createMemoryDatabase()));
