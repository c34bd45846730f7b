// What a document holds below its types: every clock of every client and the kind of content it has. For documents that
// hold what no editor wrote: there, items may be ordered, and even deleted, by the order of arrival (an origin and a right
// origin in different places), and the readers of the types make no sense.
import * as Y from "yjs";

/**
 * Per client the runs of clocks with the kind of their content. Neighbours are joined, since documents split items
 * differently. To be compared between documents without garbage collection, which depends on the order of arrival.
 */
export function storeOf(doc: Y.Doc): string {
  const lines: string[] = [];
  for (const [client, structs] of [...doc.store.clients].sort(([a], [b]) => a - b)) {
    const runs: { kind: string; end: number }[] = [];
    for (const struct of structs) {
      const kind = struct instanceof Y.Item ? struct.content.constructor.name : "GC";
      const end = struct.id.clock + struct.length;
      const last = runs.at(-1);
      if (last?.kind === kind) last.end = end;
      else runs.push({ kind, end });
    }
    lines.push(`${client}: ${runs.map(({ kind, end }) => `${kind} ${end}`).join(", ")}`);
  }
  return lines.join("\n");
}
