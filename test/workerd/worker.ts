// The Worker that the tests in this folder run inside: one class of room for each way in which people use them.
import { DurableObject } from "cloudflare:workers";
import { Server, type Connection, type ConnectionContext, type WSMessage } from "partyserver";
import * as Y from "yjs";
import { Room, routeRooms, withRoom, type Authorization, type RouteRoomsOptions } from "../../src/index.js";

/** Tells instances of one object apart: module globals survive an eviction here, fields do not. */
let instances = 0;

/** A room without any code of its own. */
export class PlainRoom extends Room {
  readonly instance = ++instances;

  /** A back end's edit, over native RPC. */
  appendText(text: string): void {
    const target = this.document.getText("text");
    target.insert(target.length, text);
  }
}

/** Overrides every hook and calls `super` in none. */
export class HookedRoom extends Room {
  static override callbackOptions = { debounceWait: 20, debounceMaxWait: 50 };
  readonly calls: string[] = [];

  override onStart(): void {
    this.calls.push("onStart");
  }
  override getConnectionTags(_connection: Connection, { request }: ConnectionContext): string[] {
    const tags = new URL(request.url).searchParams.getAll("tag");
    return tags.map((tag) => (tag === "long" ? "x".repeat(257) : tag));
  }
  override onConnect(connection: Connection, { request }: ConnectionContext): void {
    const query = new URL(request.url).searchParams;
    this.calls.push(`onConnect ${query.get("name") ?? ""}`);
    if (query.has("fail")) throw new Error("onConnect was told to fail");
    connection.setState({ name: query.get("name") });
  }
  override onMessage(connection: Connection, message: WSMessage): void {
    this.calls.push(`onMessage ${typeof message === "string" ? message : "binary"}`);
    if (message === "state?") connection.send(JSON.stringify(connection.state));
    if (message === "grow") connection.setState({ text: "x".repeat(20_000) });
    if (message === "kick me") connection.close(4403, "kicked");
    if (message === "fail") throw new Error("onMessage was told to fail");
  }
  override onClose(_connection: Connection, code: number): void {
    this.calls.push(`onClose ${code}`);
  }
  override onError(): void {
    this.calls.push("onError");
  }
  override onRequest(): Response {
    return Response.json(this.calls);
  }
  override async onSave(): Promise<void> {
    this.calls.push(`onSave ${this.document.getText("text").toJSON()}`);
  }
  override onCustomMessage(connection: Connection, message: string): void {
    this.calls.push(`onCustomMessage ${message}`);
    this.sendCustomMessage(connection, `you said ${message}`);
    this.broadcastCustomMessage(`somebody said ${message}`, connection);
  }
  override isReadOnly(connection: Connection): boolean {
    return connection.tags.includes("reader");
  }
}

/** Takes small updates only. */
export class LimitedRoom extends Room {
  static override roomOptions = { limits: { maxBytes: 1_000 } };
}

/** Lets in who says who he is. */
export class GuardedRoom extends Room {
  override getConnectionTags(_connection: Connection, { request }: ConnectionContext): string[] {
    return new URL(request.url).searchParams.getAll("tag");
  }
  override onAuthorize(request: Request): Authorization | Response {
    const query = new URL(request.url).searchParams;
    const token = query.get("token") ?? "";
    if (token === "throw") throw new Error("the token service is away");
    if (token === "teapot") return new Response("I'm a teapot", { status: 418 });
    if (token === "") return { access: "none" };
    const [subject = "", access = "write"] = token.split(":");
    return { subject, access: access as Authorization["access"] };
  }
}

/** Imports what an application kept in its own table, and fails on demand. */
export class SeededRoom extends Room {
  loads = 0;

  override async onLoad(): Promise<Y.Doc | void> {
    this.loads++;
    if ((await this.ctx.storage.get("fail")) !== undefined) throw new Error("the import failed");
    const seed = new Y.Doc();
    seed.getText("text").insert(0, `seed of ${this.name}`);
    await Promise.resolve();
    return seed;
  }

  text(): string {
    return this.document.getText("text").toJSON();
  }
}

/** A PartyServer class that had a life of its own before it got a document. */
class Chat extends Server {
  static override options = { hibernate: true };
  override onMessage(connection: Connection, message: WSMessage): void {
    this.broadcast(`chat: ${typeof message === "string" ? message : "?"}`, [connection.id]);
  }
}

export class ChatRoom extends withRoom(Chat) {}

/** Hooks as fields, as people write them who bind them. */
export class FieldsRoom extends Room {
  override onLoad = async (): Promise<Y.Doc> => {
    const seed = new Y.Doc();
    seed.getText("text").insert(0, "seed from a field");
    return seed;
  };
  override onConnect = (connection: Connection): void => {
    this.sendCustomMessage(connection, "welcome");
    // Known to understand text only once it has sent some.
    connection.send("__YPS:welcome");
  };
}

/** Imports slowly or too much before it fails, saves slowly, kicks readers, and assigns a hook late. */
export class ImportRoom extends Room {
  static override callbackOptions = { debounceWait: 5, debounceMaxWait: 10 };
  readonly saves: string[] = [];
  readonly kind = typeof this.fetch;

  override getConnectionTags(_connection: Connection, { request }: ConnectionContext): string[] {
    return new URL(request.url).searchParams.getAll("tag");
  }
  override onStart(): void {
    this.onMessage = (connection, message) => {
      connection.send(`assigned: ${typeof message === "string" ? message : "?"}`);
    };
  }
  override async onLoad(): Promise<void> {
    const mode = await this.ctx.storage.get("mode");
    const text = this.document.getText("text");
    if (mode === "slow") {
      text.insert(0, "half");
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      throw new Error("the import failed late");
    }
    if (mode === "large") {
      text.insert(0, "x".repeat(1_100_000));
      throw new Error("the import failed large");
    }
    if (mode === "whole") text.insert(0, "the whole");
  }
  override async onSave(): Promise<void> {
    this.saves.push("start");
    await new Promise((resolve) => setTimeout(resolve, 150));
    this.saves.push("end");
  }
  override isReadOnly(connection: Connection): boolean {
    if (connection.tags.includes("kick")) connection.close(4403, "kicked");
    return connection.tags.includes("kick");
  }
}

/** A base class with a constructor, requests and permissions of its own. */
class Base extends Server {
  static override options = { hibernate: true };
  readonly label: string = `${this.name} is well`;
  #props: unknown = null;

  override async fetch(request: Request): Promise<Response> {
    const { search, pathname } = new URL(request.url);
    if (search === "?health") return new Response(this.label);
    if (pathname.startsWith("/props/")) {
      await this.__unsafe_ensureInitialized();
      return Response.json(this.#props);
    }
    return super.fetch(request);
  }
  override onStart(props?: Record<string, unknown>): void {
    this.#props = props;
  }
  isReadOnly(): boolean {
    return true;
  }
}

export class BasedRoom extends withRoom(Base) {}

/** How a class on y-partyserver with documented persistence looks after two imports were changed. */
export class MigratedRoom extends Room {
  override async onLoad(): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS documents (id TEXT PRIMARY KEY, content BLOB)");
    const [row] = sql.exec("SELECT content FROM documents WHERE id = ?", "document").toArray();
    if (row?.["content"] instanceof ArrayBuffer) {
      Y.applyUpdate(this.document, new Uint8Array(row["content"]));
    }
  }
  override async onSave(): Promise<void> {
    const update = Y.encodeStateAsUpdate(this.document);
    this.ctx.storage.sql.exec(
      "INSERT OR REPLACE INTO documents (id, content) VALUES (?, ?)",
      "document",
      update,
    );
  }
}

/** What the platform itself does, without any room. */
export class Probe extends DurableObject {
  inMemory = 0;

  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade") === "websocket") {
      const { 0: client, 1: server } = new WebSocketPair();
      this.ctx.acceptWebSocket(server);
      server.serializeAttachment({ greeted: 1 });
      return new Response(null, { status: 101, webSocket: client });
    }
    this.inMemory += 1;
    return Response.json({ inMemory: this.inMemory, stored: await this.#storeOne() });
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.inMemory += 1;
    const attachment: unknown = socket.deserializeAttachment();
    socket.send(JSON.stringify({ message, inMemory: this.inMemory, attachment }));
  }

  override webSocketClose(): void {}

  async #storeOne(): Promise<number> {
    const stored = ((await this.ctx.storage.get<number>("stored")) ?? 0) + 1;
    await this.ctx.storage.put("stored", stored);
    return stored;
  }
}

function optionsFor(path: string): RouteRoomsOptions {
  if (path.startsWith("/rooms/")) return { prefix: "rooms" };
  if (path.startsWith("/cors/")) return { prefix: "/cors", cors: true };
  if (path.startsWith("/props/")) return { prefix: "props", props: { tenant: "Zoë" } };
  return {};
}

const worker: ExportedHandler<Cloudflare.Env> = {
  async fetch(request, env) {
    const response = await routeRooms(request, env, optionsFor(new URL(request.url).pathname));
    return response ?? new Response("There is no such page here.\n", { status: 404 });
  },
};

export default worker;
