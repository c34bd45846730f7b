declare namespace Cloudflare {
  interface Env {
    PLAIN: DurableObjectNamespace<import("./worker.js").PlainRoom>;
    HOOKED: DurableObjectNamespace<import("./worker.js").HookedRoom>;
    GUARDED: DurableObjectNamespace<import("./worker.js").GuardedRoom>;
    LIMITED: DurableObjectNamespace<import("./worker.js").LimitedRoom>;
    FIELDS: DurableObjectNamespace<import("./worker.js").FieldsRoom>;
    BASED: DurableObjectNamespace<import("./worker.js").BasedRoom>;
    IMPORT: DurableObjectNamespace<import("./worker.js").ImportRoom>;
    SEEDED: DurableObjectNamespace<import("./worker.js").SeededRoom>;
    CHAT: DurableObjectNamespace<import("./worker.js").ChatRoom>;
    MIGRATED: DurableObjectNamespace<import("./worker.js").MigratedRoom>;
    PROBE: DurableObjectNamespace<import("./worker.js").Probe>;
  }
  interface GlobalProps {
    mainModule: typeof import("./worker.js");
  }
}
