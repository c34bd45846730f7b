// The hooks that PartyServer calls on an instance, taken over: what the application wrote is kept aside, and ours stand
// in their place. So the room does its part whether or not the application calls `super`.
import { Server, type Connection, type ConnectionContext, type WSMessage } from "partyserver";

/** The hooks of PartyServer's that a room takes over. */
export interface ServerHooks {
  onStart(props?: Record<string, unknown>): void | Promise<void>;
  getConnectionTags(connection: Connection, context: ConnectionContext): string[] | Promise<string[]>;
  onConnect(connection: Connection, context: ConnectionContext): void | Promise<void>;
  onMessage(connection: Connection, message: WSMessage): void | Promise<void>;
  onClose(connection: Connection, code: number, reason: string, wasClean: boolean): void | Promise<void>;
  onError(connection: Connection, error: unknown): void | Promise<void>;
  onRequest(request: Request): Response | Promise<Response>;
  onAlarm(): void | Promise<void>;
}

/** What the application wrote; a hook that it did not write is missing. */
export type ApplicationHooks = Partial<ServerHooks>;

/**
 * Puts `replacements` in place of the hooks of `server`, and returns what the application wrote, bound to it. Not before
 * the constructors have run: hooks may be fields.
 */
export function takeOverHooks(server: Server, replacements: ServerHooks): ApplicationHooks {
  const application: ApplicationHooks = {};
  for (const name of hookNames) {
    const isWritten = server[name] !== Server.prototype[name];
    if (isWritten) Object.assign(application, { [name]: server[name].bind(server) });
    Object.defineProperty(server, name, {
      configurable: true,
      get: () => replacements[name],
      // A hook that is assigned later is the application's as well.
      set: (hook: unknown) => {
        Object.assign(application, { [name]: hook });
      },
    });
  }
  return application;
}

const hookNames = [
  "onStart",
  "getConnectionTags",
  "onConnect",
  "onMessage",
  "onClose",
  "onError",
  "onRequest",
  "onAlarm",
] as const satisfies readonly (keyof ServerHooks)[];
