import { readFile } from "node:fs/promises";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import type { NomadTlsConfig } from "../config.ts";

/** What a connection with TLS needs, as Node.js takes it. */
export interface NomadTls {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Reads the certificates that the configuration names. @throws InvalidInputError naming the file that cannot be read */
export async function readNomadTls({ ca, certificate, key, serverName, insecureSkipVerify }: NomadTlsConfig): Promise<NomadTls> {
  const read = async (setting: string, path: string | undefined): Promise<Buffer | undefined> => {
    if (path === undefined) return undefined;
    try {
      return await readFile(path);
    } catch (cause) {
      throw new InvalidInputError(`tls.${setting} of the Nomad provider: read ${path}: ${messageOf(cause)}`, { cause });
    }
  };
  if ((certificate === undefined) !== (key === undefined))
    throw new InvalidInputError("tls of the Nomad provider: certificate and key go together; set both or none");
  return {
    ...(ca !== undefined && { ca: await read("ca", ca) }),
    ...(certificate !== undefined && { cert: await read("certificate", certificate) }),
    ...(key !== undefined && { key: await read("key", key) }),
    ...(serverName !== undefined && { servername: serverName }),
    rejectUnauthorized: !insecureSkipVerify,
  };
}
