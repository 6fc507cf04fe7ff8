import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { WatchedFiles } from "../certificates/watched-files.ts";
import { Listeners } from "../listeners.ts";
import { parseCaBundle } from "./ca-bundle.ts";
import type { ClientCa } from "./client-ca.ts";

/** Options of a client CA in a file. */
export interface ClientCaFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reads the client CA from a file, and reads it again when it changes. If the new content is invalid, that is logged and the previous CA
 * stays in use.
 *
 * @throws InvalidInputError if the file cannot be read or holds no certificate
 */
export async function openClientCaFile({ path, clock, logger }: ClientCaFileOptions): Promise<ClientCa> {
  const files = new WatchedFiles([path], clock);
  let pem = read(await files.read(), path);
  const listeners = new Listeners();
  return {
    current: () => pem,
    onChange: (listener) => listeners.add(listener),
    searched: Promise.resolve(),
    run: (signal) =>
      files.run(signal, {
        onChange(contents) {
          pem = read(contents, path);
          logger.info({ path }, "the client CA has changed");
          listeners.notify();
        },
        onError: (error) => logger.warn({ path, err: messageOf(error) }, "the client CA file cannot be read; the previous CA stays in use"),
      }),
  };
}

function read([pem = ""]: readonly string[], path: string): string {
  try {
    parseCaBundle(pem);
  } catch (error) {
    throw new InvalidInputError(`${path}: ${messageOf(error)}`, { cause: error });
  }
  return pem;
}
