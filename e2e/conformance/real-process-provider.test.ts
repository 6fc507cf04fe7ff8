import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  contractFeatures,
  describeProvider,
  shellPrograms,
  type Feature,
  type Program,
  type Recipe,
} from "@virtual-kubelet/testing/conformance";
import { freePort } from "@virtual-kubelet/testing";
import { afterAll } from "vitest";
import { provider } from "../real-process-provider/provider.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { reportFile } from "./support/paths.ts";

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

const shell = shellPrograms({ image: "none" });

/** An HTTP server of Node.js, as the machine has no other for certain. */
function programs(program: Program, container: string): Recipe {
  if (program.kind !== "http") return shell(program, container);
  const script = `require("node:http").createServer((_, response) => response.end("hello\\n")).listen(${program.port}, "127.0.0.1")`;
  return { container: { image: "none", command: [process.execPath, "-e", script] } };
}

await describeProvider({
  provider,
  config: { directory },
  required,
  notRun: canOpenTerminals() ? {} : { "exec-tty": "script(1) of util-linux is not here" },
  programs,
  port: await freePort(),
  podsOutliveProgram: false,
  report: reportFile("real-process"),
});
