import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { readFile } from "node:fs/promises";
import type { Credentials, Identity, TlsMaterial } from "./credentials.ts";
import type { ExecCredential } from "./exec-credential.ts";
import type { Headers } from "./impersonation.ts";

/** Maximum age of read files. Source: client-go re-reads a token file every minute. */
const maxAgeMs = 60_000;

/** A text, or the file that holds it. */
export type TextSource = { readonly text: string } | { readonly file: string };

/** Options of {@link FileCredentials}. */
export interface FileCredentialsOptions {
  readonly server: string;
  readonly proxy?: URL | undefined;
  /** Headers of every request. */
  readonly headers?: Headers | undefined;
  readonly namespace?: string | undefined;
  readonly ca?: TextSource | undefined;
  readonly certificate?: TextSource | undefined;
  readonly key?: TextSource | undefined;
  readonly token?: TextSource | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  /** A command that outputs a token or a certificate; takes precedence over {@link token}. */
  readonly exec?: ExecCredential | undefined;
  readonly serverName?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
  readonly clock: Clock;
}

/** Credentials from texts, files and a command. Files are read again every minute, and when the server refuses them. */
export class FileCredentials implements Credentials {
  readonly server: string;
  readonly #options: FileCredentialsOptions;
  #identity: Identity | undefined;
  #readMs = 0;
  #reading: Promise<Identity> | undefined;

  constructor(options: FileCredentialsOptions) {
    this.server = options.server.replace(/\/+$/, "");
    this.#options = options;
  }

  /** Private because it may hold a password, and a printed object shows its fields. */
  get proxy(): string | undefined {
    return this.#options.proxy?.href;
  }

  get headers(): Headers | undefined {
    return this.#options.headers;
  }

  get namespace(): string | undefined {
    return this.#options.namespace;
  }

  get certificateFile(): string | undefined {
    const { certificate } = this.#options;
    return certificate && "file" in certificate ? certificate.file : undefined;
  }

  async current(signal: AbortSignal): Promise<Identity> {
    signal.throwIfAborted();
    const { clock, exec } = this.#options;
    const isFresh = this.#identity && clock.monotonic() - this.#readMs < maxAgeMs && !exec?.isDue;
    return isFresh && this.#identity ? this.#identity : this.#read(signal);
  }

  async refresh(signal: AbortSignal): Promise<void> {
    this.#options.exec?.expire();
    await this.#read(signal);
  }

  /** One read serves all waiting callers. If it fails, the previous values are kept, because files are replaced one after the other. */
  async #read(signal: AbortSignal): Promise<Identity> {
    // No caller's signal aborts the read, because others may still wait for it.
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    try {
      return await untilAborted(this.#reading, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#identity || this.#options.exec) throw error;
      return this.#identity;
    }
  }

  async #readAll(): Promise<Identity> {
    const { ca, certificate, key, token, basic, exec, serverName, insecureSkipVerify, clock } = this.#options;
    const executed = await exec?.current();
    const certificateText = executed?.certificate ?? (await readSource(certificate));
    // Certificate and key in one file are replaced together, so they must come from the same read.
    const isOneFile = certificate && key && "file" in certificate && "file" in key && certificate.file === key.file;
    const tls: TlsMaterial = {
      ca: await readSource(ca),
      certificate: certificateText,
      key: executed?.key ?? (isOneFile ? certificateText : await readSource(key)),
      serverName,
      insecureSkipVerify,
    };
    const bearer = executed?.token ?? (await readSource(token))?.trim();
    const authorization = bearer
      ? `Bearer ${bearer}`
      : basic && `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}`;
    this.#readMs = clock.monotonic();
    this.#identity = { tls: sameTls(this.#identity?.tls, tls), authorization };
    return this.#identity;
  }
}

/** Returns the previous object if it is equal, so that connections are kept. */
function sameTls(before: TlsMaterial | undefined, after: TlsMaterial): TlsMaterial {
  const isSame = before && before.ca === after.ca && before.certificate === after.certificate && before.key === after.key;
  return isSame ? before : after;
}

/** @throws InvalidInputError if the file cannot be read, or is empty */
export async function readSource(source: TextSource | undefined): Promise<string | undefined> {
  if (!source) return undefined;
  if ("text" in source) return source.text;
  const text = await readFile(source.file, "utf8").catch((error: unknown) => {
    throw new InvalidInputError(`read credentials: ${messageOf(error)}`, { cause: error });
  });
  // A writer that truncates the file leaves it empty for a moment. Without a token the server would treat the client as anonymous.
  if (text.trim() === "") throw new InvalidInputError(`read credentials: ${source.file} is empty`);
  return text;
}
