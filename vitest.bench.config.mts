// `npm run bench`: measurements, side by side in one run. Not part of the tests, which assert no times.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
process.env["WRANGLER_SEND_METRICS"] = "false";

export default defineConfig({
  test: { include: ["test/bench/**/*.bench.ts"], silent: false, disableConsoleIntercept: true },
  plugins: [
    cloudflareTest({
      main: "test/bench/worker.ts",
      verbose: false,
      miniflare: {
        compatibilityDate: "2026-10-01",
        durableObjects: {
          OURS: { className: "OurRoom", useSQLite: true },
          PEER: { className: "PeerRoom", useSQLite: true },
        },
      },
    }),
  ],
});
