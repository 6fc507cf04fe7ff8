import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { messageOf } from "@virtual-kubelet/errdefs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { CommandName } from "../command-line/flag.ts";
import { valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { ConfigError, ProgramError } from "../program-error.ts";

/**
 * Starts an API server in memory on the port of `--port`.
 *
 * @param command - name for errors and for the context of the kubeconfig
 * @throws ConfigError or ProgramError if it cannot listen there
 */
export async function openEmbedded(line: CommandLine, { clock, random }: Context, command: CommandName): Promise<ApiServer> {
  const port = embeddedPort(line);
  try {
    return await startApiServer({ port, clock, random, contextName: command });
  } catch (error) {
    throw new ProgramError(
      `${command}: cannot serve on 127.0.0.1:${port}: ${messageOf(error)}; choose another --port`,
      exitCodes.failure.code,
      {
        cause: error,
      },
    );
  }
}

/** Port of `--port`. Default: 0, a free one. @throws ConfigError if it is none */
export function embeddedPort(line: CommandLine): number {
  const text = valueOf(line, "port") ?? "0";
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new ConfigError(`--port: ${JSON.stringify(text)}: expected a port from 0 to 65535`);
}

/** Writes the kubeconfig of an API server in memory, readable by its owner only, because it holds the administrator's token. */
export async function writeKubeconfig(file: string, server: ApiServer): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await server.writeKubeconfig(file);
  } catch (error) {
    throw new ConfigError(`--kubeconfig: ${JSON.stringify(file)}: cannot be written: ${messageOf(error)}`, { cause: error });
  }
}
