import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { startApiServer, type ApiServerOptions } from "../../start-api-server.ts";
import { FlagError, kubeApiserverFlags, parseFlags } from "./flags.ts";
import { toSettings, type KubeApiserverSettings } from "./kube-apiserver-settings.ts";
import { untilSignalOrOrphaned } from "./until-signal-or-orphaned.ts";

/**
 * Takes the place of kube-apiserver below envtest: the same flags, files and signals, and the embedded API server without controllers.
 */
async function main(words: readonly string[]): Promise<void> {
  const types = kubeApiserverFlags();
  const flags = parseFlags(words, types);
  if (flags.has("help")) {
    process.stdout.write(usage(Object.keys(types)));
    return;
  }
  if (flags.has("version")) {
    process.stdout.write("Kubernetes v1.36.3-embedded\n");
    return;
  }
  const settings = toSettings(flags);
  for (const name of settings.ignored) process.stderr.write(`kube-apiserver: --${name} has no effect here\n`);
  await using server = await startApiServer(await toOptions(settings));
  process.stderr.write(`Kubernetes ${server.version} at ${server.url}\n`);
  await untilSignalOrOrphaned();
}

async function toOptions(settings: KubeApiserverSettings): Promise<ApiServerOptions> {
  const { host, port, authorization, serviceAccounts, serviceClusterIpRange, serving, clientCaFile } = settings;
  const hasCertificate = serving.isRequired || existsSync(serving.certificate);
  return {
    host,
    port,
    authorization,
    serviceAccounts,
    serviceClusterIpRange,
    controllers: false,
    ...(hasCertificate
      ? { serving: { certificate: await readFile(serving.certificate, "utf8"), key: await readFile(serving.key, "utf8") } }
      : {}),
    ...(clientCaFile === undefined ? {} : { clientCaPem: await readFile(clientCaFile, "utf8") }),
  };
}

function usage(names: readonly string[]): string {
  return `The embedded API server in the place of kube-apiserver, for tests.

Usage:
  kube-apiserver [flags]

Flags:
${names.map((name) => `      --${name}\n`).join("")}`;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof FlagError ? 1 : 2;
}
