import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { instanceScriptDomain, RecordingProvider, type ProviderMethod } from "@virtual-kubelet/testing";
import { shellPrograms, type ConformanceOptions, type Program, type Recipe } from "@virtual-kubelet/testing/conformance";
import { provider as processes } from "../../real-process-provider/provider.ts";
import { mockPrograms } from "./mock-programs.ts";

// Providers that pass the suite: broken providers are made of them, each with one fault.

/** The mock: it can do everything, and its pods end with it. */
export function mockOptions(): ConformanceOptions {
  const lacks = { probes: "the mock takes probes, and asks nothing: whether a container is ready, its script says" };
  return { provider: mock, required: [], config: { pods: 100 }, lacks, programs: mockPrograms, podsOutliveProgram: false };
}

/** The recording provider: its back end outlives it, and can be broken. */
export function recordingOptions(): ConformanceOptions {
  const recording = new RecordingProvider({ startDelayMs: 100 });
  const { backend } = recording;
  const failing = async (...methods: readonly ProviderMethod[]): Promise<AsyncDisposable> => {
    const error = new UnavailableError("the back end is away");
    const scripts = methods.map((method) => recording.script(method, { error }));
    return {
      async [Symbol.asyncDispose]() {
        for (const script of scripts) script[Symbol.dispose]();
      },
    };
  };
  return {
    provider: recording.definition,
    required: [],
    programs: pretendPrograms,
    backend: {
      losePod: async ({ uid }) => backend.lose(uid),
      breakBackend: () => failing("createPod", "updatePod", "deletePod", "getPod", "getPodStatus", "getPods", "ping"),
      breakLists: () => failing("getPods"),
      leftovers: async () => backend.list().map(({ instanceId }) => instanceId),
    },
  };
}

/** Processes of this machine, which run the commands of the suite's containers. */
export function processOptions(): ConformanceOptions & AsyncDisposable {
  const directory = mkdtempSync(join(tmpdir(), "vk-good-provider-"));
  return {
    provider: processes,
    required: [],
    config: { directory },
    programs: shellPrograms({ image: "none" }),
    podsOutliveProgram: false,
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What a pretend back end makes of a program: it runs nothing, and ends when it is told to. */
export function pretendPrograms(program: Program): Recipe {
  const script: Record<string, string> =
    program.kind === "exit"
      ? { "exit-after-ms": String(program.afterSeconds * 1000), "exit-code": String(program.exitCode) }
      : program.kind === "ignore-end"
        ? { "stop-delay-ms": "3600000" }
        : {};
  const annotations = Object.fromEntries(Object.entries(script).map(([field, value]) => [`${instanceScriptDomain}/${field}`, value]));
  return { container: { image: "pretend" }, annotations };
}
