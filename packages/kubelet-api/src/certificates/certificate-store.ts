import type { KeyPair } from "@virtual-kubelet/pki";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "@virtual-kubelet/core";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { warnOfOpenDirectory, warnOfOpenKeyFile } from "./open-permissions.ts";
import { writePrivateFile } from "./private-file.ts";
import type { ServingNames } from "./serving-names.ts";

/** Certificate request that is not decided yet. */
export interface PendingRequest {
  /** Name and UID of the CertificateSigningRequest. */
  readonly name: string;
  readonly uid: string;
  /** Private key in PEM. */
  readonly key: string;
  /** PKCS #10, PEM; `undefined` in files of earlier versions. */
  readonly request?: string | undefined;
  readonly names: ServingNames;
  /** Time of creation, in milliseconds since the epoch. */
  readonly madeMs: number;
}

/** Serving certificates and pending request of a node. */
export interface StoredCertificates {
  readonly selfSigned?: KeyPair | undefined;
  /** Pair from the cluster's signer. */
  readonly issued?: KeyPair | undefined;
  readonly pending?: PendingRequest | undefined;
}

/** Keeps certificates, keys and a pending request over restarts. */
export interface CertificateStore {
  /** Returns the state that was saved last; empty if there is none. */
  load(): Promise<StoredCertificates>;
  /** Saves the state, and replaces the previous one. */
  save(stored: StoredCertificates): Promise<void>;
}

/** Stores nothing: each start creates a new key and a new request. */
export const noCertificateStore: CertificateStore = { load: () => Promise.resolve({}), save: () => Promise.resolve() };

/**
 * Opens a store that uses the file `<node name>.json` in a directory. Only the owner can read the file (0600, the directory 0700). A file that
 * cannot be parsed is logged and ignored. Logs a warning about a directory that others can write to.
 *
 * @throws InvalidInputError if the directory cannot be created
 */
export async function openCertificateDirectory(directory: string, nodeName: string, logger: Logger): Promise<CertificateStore> {
  const path = join(directory, `${nodeName}.json`);
  await openDirectory(directory, logger);
  await warnOfOpenKeyFile(path, logger);
  return { load: () => load(path, logger), save: (stored) => writePrivateFile(path, JSON.stringify(stored)) };
}

/** Creates the directory for certificates if it is missing (0700). @throws InvalidInputError if that fails */
export async function openDirectory(directory: string, logger: Logger): Promise<void> {
  try {
    await makeDirectory(directory, 0o700);
  } catch (error) {
    throw new InvalidInputError(`make the directory ${directory} for certificates: ${messageOf(error)}`, { cause: error });
  }
  await warnOfOpenDirectory(directory, logger);
}

async function load(path: string, logger: Logger): Promise<StoredCertificates> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new InvalidInputError(`read ${path}: ${messageOf(error)}`, { cause: error });
  }
  try {
    const stored: unknown = JSON.parse(text);
    if (isStored(stored)) return stored;
  } catch {
    // The parser's own error quotes the text, which contains keys.
  }
  logger.warn({ path }, "the file with certificates cannot be parsed; starting without it");
  return {};
}

function isStored(value: unknown): value is StoredCertificates {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { selfSigned, issued, pending } = value as { selfSigned?: unknown; issued?: unknown; pending?: unknown };
  return (
    (selfSigned === undefined || hasTexts(selfSigned, ["certificate", "key"])) &&
    (issued === undefined || hasTexts(issued, ["certificate", "key"])) &&
    (pending === undefined || isPendingRequest(pending))
  );
}

/** Whether a parsed value is a {@link PendingRequest}. */
export function isPendingRequest(value: unknown): value is PendingRequest {
  if (!hasTexts(value, ["name", "uid", "key"])) return false;
  const { names, madeMs } = value as Partial<PendingRequest>;
  return typeof madeMs === "number" && Array.isArray(names?.dnsNames) && Array.isArray(names.ips);
}

function hasTexts(value: unknown, fields: readonly string[]): value is object {
  return (
    typeof value === "object" && value !== null && fields.every((field) => typeof (value as Record<string, unknown>)[field] === "string")
  );
}
