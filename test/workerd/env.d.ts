// What vitest.config.mts binds for the tests in this folder.

declare namespace Cloudflare {
  interface Env {
    PROBE: DurableObjectNamespace<import("./worker.ts").Probe>;
  }
}
