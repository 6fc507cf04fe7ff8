import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contractFeatures, describeProvider, type Feature } from "@virtual-kubelet/testing/conformance";
import { freePort } from "@virtual-kubelet/testing";
import { afterAll } from "vitest";
import { provider } from "../real-process-provider/provider.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { reportFile } from "./support/paths.ts";
import { processPrograms } from "./support/process-programs.ts";

const directory = mkdtempSync(join(tmpdir(), "vk-conformance-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const required: readonly Feature[] = [
  ...contractFeatures,
  "node",
  "notifications",
  "environment",
  "files",
  "init-containers",
  "sidecar-containers",
  "multiple-containers",
  "restarts",
  "probes",
  "logs",
  "logs-follow",
  "logs-previous",
  "exec",
  "exec-exit-code",
  "exec-input",
  "exec-tty",
  "attach",
  "port-forward",
  "stats",
];

await describeProvider({
  provider,
  config: { directory },
  required,
  notRun: canOpenTerminals() ? {} : { "exec-tty": "script(1) of util-linux is not here" },
  programs: processPrograms,
  port: await freePort(),
  podsOutliveProgram: false,
  report: reportFile("real-process"),
});
