// The Worker that the tests in this folder run inside.
import { DurableObject } from "cloudflare:workers";

/** Counts what it was asked in memory and in storage, and echoes over a hibernating socket. */
export class Probe extends DurableObject {
  inMemory = 0;

  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade") === "websocket") {
      const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
      this.ctx.acceptWebSocket(server);
      server.serializeAttachment({ greeted: 1 });
      return new Response(null, { status: 101, webSocket: client });
    }
    this.inMemory += 1;
    return Response.json({ inMemory: this.inMemory, stored: await this.#storeOne() });
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.inMemory += 1;
    socket.send(
      JSON.stringify({ message, inMemory: this.inMemory, attachment: socket.deserializeAttachment() }),
    );
  }

  override webSocketClose(): void {}

  async #storeOne(): Promise<number> {
    const stored = ((await this.ctx.storage.get<number>("stored")) ?? 0) + 1;
    await this.ctx.storage.put("stored", stored);
    return stored;
  }
}

export default {
  fetch(): Response {
    return new Response("not here", { status: 404 });
  },
};
