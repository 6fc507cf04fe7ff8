import { eventually } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitCodes } from "virtual-kubelet";
import { expect, test } from "vitest";
import { ProgramRig, soon } from "./support/program-rig.ts";
import { TraceCollector, type CollectedSpan } from "./support/trace-collector.ts";

const words = "--provider mock --nodename vk-1";

/** Registers an SDK that prints the names of spans; its packages are those of the program. */
const register = `
import { createRequire } from "node:module";
const require = createRequire(${JSON.stringify(new URL("../../packages/cli/package.json", import.meta.url).href)});
const { TracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace");
const exporter = {
  export: (spans, done) => {
    for (const { name } of spans) process.stdout.write(name + "\\n");
    done({ code: 0 });
  },
  shutdown: async () => {},
};
require("@opentelemetry/api").trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
`;

/** The span of a name about the pod `web`. */
function spanOf(collector: TraceCollector, name: string): CollectedSpan {
  const found = collector.spans.find((span) => span.name === name && span.attributes["k8s.pod.name"] === "web");
  if (!found) throw new Error(`there is no span ${name}, only ${[...new Set(collector.spans.map((span) => span.name))].join(", ")}`);
  return found;
}

/** Runs a pod with a collector, and ends the program. @returns how long its end took, in milliseconds */
async function runPod(collector: TraceCollector, env: Readonly<Record<string, string>> = {}): Promise<{ stderr: string; endMs: number }> {
  await using rig = await ProgramRig.open();
  await using program = rig.run(words, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } });
  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  const startedMs = performance.now();
  program.kill("SIGTERM");
  expect(await program.exit).toBe(exitCodes.ok.code);
  return { stderr: program.stderr, endMs: performance.now() - startedMs };
}

test("a pod's way is a trace: the call of the provider is a part of the pod's sync, and all leave before the program ends", async () => {
  await using collector = await TraceCollector.start();

  // Nothing but the end sends what has been collected.
  const { stderr } = await runPod(collector, {
    OTEL_BSP_SCHEDULE_DELAY: "3600000",
    OTEL_SERVICE_NAME: "my-nodes",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer my-secret",
  });

  const sync = spanOf(collector, "pod.sync");
  const create = spanOf(collector, "provider.createPod");
  expect(sync.parentId).toBeUndefined();
  expect(create).toMatchObject({ parentId: sync.spanId, traceId: sync.traceId });
  // Statuses are written by a queue of their own, several changes at once, so that a write has a trace of its own about the same pod.
  const patch = spanOf(collector, "status.patch");
  expect([patch.parentId, patch.attributes["k8s.pod.uid"]]).toEqual([undefined, sync.attributes["k8s.pod.uid"]]);
  expect(sync.resource).toMatchObject({ "service.name": "my-nodes", "deployment.environment.name": "test" });
  expect(collector.requests[0]).toMatchObject({ path: "/v1/traces", headers: { authorization: "Bearer my-secret" } });
  expect(stderr).toContain("traces are sent");
  expect(stderr).not.toContain("my-secret");
});

test("a collector that refuses is named once, and changes nothing for pods or the end", async () => {
  await using collector = await TraceCollector.start("refuse");

  const { stderr } = await runPod(collector, { OTEL_BSP_SCHEDULE_DELAY: "50", OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1" });

  expect(collector.requests.length).toBeGreaterThan(1);
  expect(stderr.match(/traces cannot be sent/g)).toHaveLength(1);
  expect(stderr).toContain("HTTP 401");
  expect(stderr).not.toContain("who are you?");
});

test("a collector that hangs delays neither pods nor, by more than two seconds, the end", async () => {
  await using collector = await TraceCollector.start("hang");

  const { stderr, endMs } = await runPod(collector, { OTEL_EXPORTER_OTLP_TIMEOUT: "3600000", OTEL_BSP_EXPORT_TIMEOUT: "3600000" });

  expect(stderr).toContain("the last traces were not sent");
  // Without the limit it would last an hour.
  expect(endMs).toBeLessThan(60_000);
});

test("with a sampler that takes nothing, or a disabled SDK, nothing is sent", async () => {
  await using collector = await TraceCollector.start();

  await runPod(collector, { OTEL_TRACES_SAMPLER: "always_off" });
  const { stderr } = await runPod(collector, { OTEL_SDK_DISABLED: "true" });

  expect(collector.requests).toEqual([]);
  expect(stderr).not.toContain("traces");
});

test("an SDK that the process is started with makes the traces, and no second one", async () => {
  await using collector = await TraceCollector.start();
  await using rig = await ProgramRig.open();
  await writeFile(join(rig.folder, "register.mjs"), register);
  await using program = rig.run(words, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, NODE_OPTIONS: "--import ./register.mjs" } });

  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  await eventually(() => expect(program.stdout).toContain("provider.createPod"), soon);
  program.kill("SIGTERM");
  await program.exit;

  expect(collector.requests).toEqual([]);
});
