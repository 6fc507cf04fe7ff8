import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import type { KeyPair } from "@virtual-kubelet/pki";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  isPendingRequest,
  openDirectory,
  type CertificateStore,
  type PendingRequest,
  type StoredCertificates,
} from "./certificate-store.ts";
import { warnOfOpenKeyFile } from "./open-permissions.ts";
import { writePrivateFile } from "./private-file.ts";

const pendingName = "kubelet-client-pending.json";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g;
const keyBlock = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]+?-----END (?:[A-Z]+ )?PRIVATE KEY-----\n?/;

/**
 * Path of a node's client certificate and its key. Both are in one file, so that they are replaced together. Source of the name: kubernetes
 * v1.36.3 client-go util/certificate, certificate_store.go, where the path is a symbolic link.
 */
export function clientCertificatePath(directory: string): string {
  return join(directory, "kubelet-client-current.pem");
}

/**
 * Opens a store for the client certificate of a node, its key and its pending request. Only the owner can read the files (0600, the
 * directory 0700). Logs a warning about files or a directory that others can write to.
 *
 * @throws InvalidInputError if the directory cannot be created
 */
export async function openClientCertificateStore(directory: string, logger: Logger): Promise<CertificateStore> {
  const path = clientCertificatePath(directory);
  const pendingPath = join(directory, pendingName);
  await openDirectory(directory, logger);
  await warnOfOpenKeyFile(path, logger);
  let saved: StoredCertificates = {};
  return {
    async load() {
      const [text, pendingText] = [await readIfExists(path), await readIfExists(pendingPath)];
      saved = { issued: text === undefined ? undefined : toPair(path, text), pending: toPending(pendingPath, pendingText, logger) };
      return saved;
    },
    async save(stored) {
      const { issued, pending } = stored;
      // The certificate comes first: if the program ends in between, its key must not be lost with the pending request.
      if (issued && issued.certificate !== saved.issued?.certificate) await writePrivateFile(path, issued.certificate + issued.key);
      if (!pending) await rm(pendingPath, { force: true });
      else if (pending !== saved.pending) await writePrivateFile(pendingPath, JSON.stringify(pending));
      saved = stored;
    },
  };
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new InvalidInputError(`read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Splits a file with certificates and a key. */
function toPair(path: string, text: string): KeyPair {
  const certificate = (text.match(certificateBlock) ?? []).map(asLines).join("");
  const [key] = keyBlock.exec(text) ?? [];
  if (certificate === "" || key === undefined)
    throw new InvalidInputError(`read ${path}: it holds no certificate with a private key; remove the file, and join the cluster again`);
  return { certificate, key: asLines(key) };
}

function asLines(block: string): string {
  return block.endsWith("\n") ? block : `${block}\n`;
}

function toPending(path: string, text: string | undefined, logger: Logger): PendingRequest | undefined {
  if (text === undefined) return undefined;
  try {
    const pending: unknown = JSON.parse(text);
    if (isPendingRequest(pending)) return pending;
  } catch {
    // The parser's own error quotes the text, which contains a key.
  }
  logger.warn({ path }, "the file with a pending certificate request cannot be parsed; continuing without it");
  return undefined;
}
