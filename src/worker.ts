// The Worker that `npm start` runs and `wrangler deploy` deploys: one kind of room, open to everybody, and the demo page.
import { Room, routeRooms } from "./index.js";

/** A room of the demo. */
export class Doc extends Room {}

interface Env extends Cloudflare.Env {
  readonly MAIN: DurableObjectNamespace;
}

const worker: ExportedHandler<Env> = {
  async fetch(request, env) {
    const response = await routeRooms(request, env);
    return response ?? new Response("There is no such page here.\n", { status: 404 });
  },
};

export default worker;
