import { labelNames } from "@virtual-kubelet/pod-runtime";
import { provider } from "@virtual-kubelet/provider-docker";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { reportFile, root } from "../conformance/support/paths.ts";
import { controlGroupOf } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { EngineProxy } from "./support/engine-proxy.ts";
import { unmountAll } from "./support/mounts.ts";

const api = sharedApi();
const proxy = await EngineProxy.start(api);
const rootDirectory = mkdtempSync(join(tmpdir(), "vk-docker-root-"));
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  unmountAll(rootDirectory);
  rmSync(rootDirectory, { recursive: true, force: true });
});

const { Version: engineVersion } = (await api.json("GET", "/version")) as { readonly Version: string };

await describeProvider({
  provider,
  config: { host: proxy.host, rootDirectory, cgroupParent: controlGroupOf(api.host), log: { folder: join(rootDirectory, "logs") } },
  required: requiredFeatures.docker,
  backend: {
    leftovers: () => api.containers({ [labelNames.cluster]: "conformance-cluster" }),
    losePod: async ({ uid }) => {
      const ids = await api.containers({ [labelNames.podUid]: uid });
      await Promise.all(ids.map((id) => api.remove(id)));
    },
    breakBackend: () => proxy.cut(),
    breakLists: () =>
      Promise.resolve(
        proxy.answer((method, path) =>
          method === "GET" && path === "/containers/json" ? { status: 500, message: "no list today" } : undefined,
        ),
      ),
  },
  // The time-outs allow for two cores that start several containers per pod while other tests run.
  timeouts: { startMs: 90_000, endMs: 60_000, callMs: 20_000 },
  readme: join(root, "providers/docker/README.md"),
  against: { kind: "real", name: "Docker Engine", version: engineVersion },
  report: reportFile("docker"),
});
