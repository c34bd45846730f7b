// What `dormouse/client` exports.
export { YProvider } from "./provider.js";
export type { ProviderError, ProviderEvents, ProviderOptions } from "./provider-options.js";
export type { Refusal } from "./connection.js";
export type { Params } from "./url.js";
export type { AccessLevel } from "../src/protocol/control.js";
