// The page that a browser loads to be a client: it offers the clients to the test that drives it.
import { Client } from "./client.ts";

declare global {
  var Client: typeof import("./client.ts").Client;
  /** The client of this page. */
  var client: Client;
}

globalThis.Client = Client;
