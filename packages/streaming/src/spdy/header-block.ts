import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { constants, createInflate, type Inflate } from "node:zlib";
import { headerDictionary, headerDictionaryId } from "./dictionary.ts";

/** Headers of a stream by lower-case name, with the first of several values. Of received headers, only {@link keptNames}. */
export type SpdyHeaders = ReadonlyMap<string, string>;

/** Headers that Kubernetes uses. The others are dropped, because a stream keeps its headers while it is open. */
const keptNames: ReadonlySet<string> = new Set(["streamtype", "port", "requestid"]);

/** Maximum length of a kept value. Kubernetes' clients send ten bytes, others a UUID. */
const maxValueBytes = 256;

const maxHeaders = 1000;

/**
 * Maximum uncompressed size of a header block, since compression could expand a thousandfold. Kubernetes' headers take about fifty bytes.
 */
const maxPlainBytes = 16 * 1024;

/** Maximum size of a stored block in deflate. */
const maxStoredBytes = 0xffff;

/** Names that are valid on HTTP connections only. Source: moby/spdystream v0.5.1 spdy/types.go. */
const forbiddenNames: ReadonlySet<string> = new Set(["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding"]);

/** Decodes an uncompressed header block, keeping only {@link keptNames}. @throws InvalidInputError if malformed */
export function decodeHeaders(plain: Buffer): SpdyHeaders {
  let offset = 0;
  const number = (): number => {
    if (offset + 4 > plain.length) throw invalid("it ends too early");
    offset += 4;
    return plain.readUInt32BE(offset - 4);
  };
  const bytes = (): Buffer => {
    const length = number();
    if (length > plain.length - offset) throw invalid("it ends too early");
    offset += length;
    return plain.subarray(offset - length, offset);
  };
  const count = number();
  if (count > maxHeaders) throw invalid(`it has ${count} headers, ${maxHeaders} are allowed`);
  const names = new Set<string>();
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = bytes().toString("latin1");
    const values = bytes();
    if (name !== name.toLowerCase() || names.has(name) || forbiddenNames.has(name))
      throw invalid("a name is not in lower case, there twice, or not allowed");
    names.add(name);
    if (keptNames.has(name)) headers.set(name, firstValue(values));
  }
  if (offset !== plain.length) throw invalid("it is longer than its headers");
  return headers;
}

/** A copy, because a substring would keep the whole string alive. */
function firstValue(values: Buffer): string {
  const end = values.indexOf(0);
  const value = end < 0 ? values : values.subarray(0, end);
  if (value.length > maxValueBytes) throw invalid(`a value of ${value.length} bytes is longer than ${maxValueBytes}`);
  return value.toString("latin1");
}

/** Encodes an uncompressed header block. */
export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const parts: Buffer[] = [word(headers.size)];
  for (const [name, value] of headers) {
    for (const text of [Buffer.from(name, "latin1"), Buffer.from(value, "latin1")]) parts.push(word(text.length), text);
  }
  return Buffer.concat(parts);
}

function word(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * Encodes the header blocks of one direction as one zlib stream with stored blocks, since compressing a few headers is not worthwhile. Each
 * block is followed by an empty stored block, without which Go's reader waits for more data and fails.
 */
export class HeaderDeflater {
  #begun = false;

  /** Returns the block for a frame. Blocks must be sent in the order of the calls. */
  deflate(headers: SpdyHeaders): Buffer {
    const plain = encodeHeaders(headers);
    if (plain.length > maxStoredBytes)
      throw new InvalidInputError(`write SPDY headers: ${plain.length} bytes are more than ${maxStoredBytes}`);
    const block = Buffer.concat([this.#begun ? Buffer.alloc(0) : streamHead(), storedHead(plain.length), plain, storedHead(0)]);
    this.#begun = true;
    return block;
  }
}

/** CMF and FLG of a zlib stream with a preset dictionary, and the dictionary's ID. */
function streamHead(): Buffer {
  const head = Buffer.from([0x78, 0xbb, 0, 0, 0, 0]);
  head.writeUInt32BE(headerDictionaryId, 2);
  return head;
}

function storedHead(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(length ^ 0xffff, 3);
  return head;
}

/** Decodes the header blocks of one direction, which form one zlib stream. Only one block may be in progress. */
export class HeaderInflater implements Disposable {
  readonly #inflate: Inflate = createInflate({ dictionary: headerDictionary });
  #parts: Buffer[] = [];
  #length = 0;
  #done: ((error: Error | undefined, headers?: SpdyHeaders) => void) | undefined;

  constructor() {
    this.#inflate.on("data", (part: Buffer) => {
      this.#length += part.length;
      if (this.#length > maxPlainBytes) this.#inflate.destroy(invalid(`it is larger than ${maxPlainBytes} bytes`));
      else this.#parts.push(part);
    });
    this.#inflate.on("error", (error) => this.#finish(error));
  }

  /** Decodes a block. Calls back once, asynchronously, with an error if the block is malformed. Nothing can be read after an error. */
  inflate(block: Buffer, done: (error: Error | undefined, headers?: SpdyHeaders) => void): void {
    this.#done = done;
    this.#parts = [];
    this.#length = 0;
    this.#inflate.write(block);
    this.#inflate.flush(constants.Z_SYNC_FLUSH, (error?: Error | null) => this.#finish(error ?? undefined));
  }

  /** Frees zlib's memory. The callback of a block in progress is never called. */
  [Symbol.dispose](): void {
    this.#done = undefined;
    this.#inflate.destroy();
  }

  #finish(failure: Error | undefined): void {
    const done = this.#done;
    this.#done = undefined;
    if (done === undefined) return;
    if (failure !== undefined) return done(new InvalidInputError("read a SPDY header block: it cannot be inflated", { cause: failure }));
    const headers = tryDecode(Buffer.concat(this.#parts));
    if (headers instanceof Error) done(headers);
    else done(undefined, headers);
  }
}

function tryDecode(plain: Buffer): SpdyHeaders | Error {
  try {
    return decodeHeaders(plain);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function invalid(what: string): InvalidInputError {
  return new InvalidInputError(`read a SPDY header block: ${what}`);
}
