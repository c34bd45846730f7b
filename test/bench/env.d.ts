declare namespace Cloudflare {
  interface Env {
    OURS: DurableObjectNamespace<import("./worker.js").OurRoom>;
    PEER: DurableObjectNamespace<import("./worker.js").PeerRoom>;
  }
}
