import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSettings } from "../config/load-settings.ts";
import { parseFlags } from "../command-line/flag-parser.ts";
import { testContext } from "../test-support/test-context.ts";
import { setUpProvider } from "./provider-setup.ts";

test("a provider's setup names the fields that the environment has filled in, and what the configuration says stays", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-setup-"));
  try {
    await writeFile(join(folder, "nomad.json"), JSON.stringify({ tls: { serverName: "mine" }, tokenFile: "/run/token" }));
    const env = { NOMAD_TOKEN: "t", NOMAD_CACERT: "/ca.pem", NOMAD_TLS_SERVER_NAME: "theirs" };
    const context = testContext(new VirtualClock(), { env, cwd: folder });
    const loaded = await loadSettings(parseFlags("run", ["--provider", "nomad", "--provider-config", "nomad.json"]), context);

    const { config, filledIn } = await setUpProvider(loaded, 0, context);

    expect(filledIn).toEqual([
      { field: "token", variable: "NOMAD_TOKEN" },
      { field: "tls.ca", variable: "NOMAD_CACERT" },
    ]);
    expect(config).toMatchObject({ tls: { ca: "/ca.pem", serverName: "mine" } });
  } finally {
    await rm(folder, { recursive: true });
  }
});
