// The rooms that are measured side by side: ours, and y-partyserver's with persistence as its README shows it, in chunks
// since a document does not fit into one row.
import { YServer } from "y-partyserver";
import * as Y from "yjs";
import { Room } from "../../src/index.js";
import { createDurableDatabase } from "../../src/storage/database.js";
import { DocumentLog } from "../../src/document/document-log.js";
import { storedUpdateLimits } from "../../src/document/update-limits.js";

const chunkBytes = 1_000_000;

/** Ours. */
export class OurRoom extends Room {
  /** Puts a document into storage as if it had been written there. */
  seed(update: Uint8Array): void {
    const log = new DocumentLog(createDurableDatabase(this.ctx.storage), this.name);
    log.accept(update, { kind: "step2", subject: null, limits: storedUpdateLimits });
    log.flush();
  }

  store(): void {
    this.flush();
  }
}

/** What a bench calls between its rounds, so that nothing waits to be stored while it measures. */
export interface Storing {
  seed(update: Uint8Array): Promise<void>;
  store(): Promise<void>;
}

/** The peer. */
export class PeerRoom extends YServer {
  static override options = { hibernate: true };

  override async onLoad(): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS chunks (no INTEGER PRIMARY KEY, body BLOB)");
    const parts = sql.exec("SELECT body FROM chunks ORDER BY no").toArray();
    if (parts.length === 0) return;
    const bytes = await new Blob(parts.map(({ body }) => body as ArrayBuffer)).arrayBuffer();
    Y.applyUpdate(this.document, new Uint8Array(bytes));
  }

  override async onSave(): Promise<void> {
    this.seed(Y.encodeStateAsUpdate(this.document));
  }

  store(): Promise<void> {
    return this.onSave();
  }

  seed(update: Uint8Array): void {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS chunks (no INTEGER PRIMARY KEY, body BLOB)");
    sql.exec("DELETE FROM chunks");
    for (let at = 0, no = 0; at < update.byteLength; at += chunkBytes, no++) {
      sql.exec("INSERT INTO chunks VALUES (?, ?)", no, update.slice(at, at + chunkBytes));
    }
  }
}

export default {
  fetch(): Response {
    return new Response("Not found", { status: 404 });
  },
};
