import { QuotaExceededError } from "@virtual-kubelet/errdefs";
import type { UsedAddresses } from "./used-addresses.ts";

const addressPattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** Number of addresses in a /24, the part of the range that a numbered node uses first. */
const partSize = 256;

export interface PodAddressesOptions {
  /** CIDR such as `10.88.0.0/13`. */
  readonly range: string;
  /** A node whose name ends with a number uses the /24 of that number first, as the nodes of other processes use those of theirs. */
  readonly nodeName: string;
  /** Shared by the nodes of a process. */
  readonly used: UsedAddresses;
}

/** Addresses from `first` on, in the order in which they are tried. */
interface Span {
  readonly first: number;
  readonly count: number;
  /** Offset of the address that is tried next. */
  next: number;
}

/**
 * Allocates IPv4 addresses to the pods of a node. A released address is the last to be reused, so that clients do not find a new pod at an
 * old address. The first and last addresses of the range, which are the network and broadcast addresses, are never used.
 */
export class PodAddresses {
  readonly #options: PodAddressesOptions;
  readonly #range: Span;
  /** The part of the range that the node uses first. */
  readonly #own: Span;

  constructor(options: PodAddressesOptions) {
    const { base, bits } = parseRange(options.range) ?? { base: 0, bits: 32 };
    const count = 2 ** (32 - bits) - 2;
    const parts = (count + 2) / partSize;
    const part = partOf(options.nodeName, parts);
    this.#options = options;
    // When their own parts are full, nodes go on at the other end of the range, where the parts of nodes with low numbers are not in the way.
    this.#range = { first: base + 1, count, next: part === undefined ? 0 : (parts - 1 - part) * partSize };
    this.#own = part === undefined ? this.#range : { first: base + 1 + part * partSize, count: partSize - 2, next: 0 };
  }

  /** Whether the text is a supported IPv4 range. */
  static isRange(text: string): boolean {
    return parseRange(text) !== undefined;
  }

  /**
   * Allocates an address to a new pod.
   *
   * @throws QuotaExceededError when every address is in use
   */
  take(): string {
    const { used, range } = this.#options;
    const address = nextFree(this.#own, used) ?? (this.#own === this.#range ? undefined : nextFree(this.#range, used));
    if (address === undefined)
      throw new QuotaExceededError(`all ${this.#range.count} pod addresses of ${range} are in use: set a larger podCIDR`);
    used.claim(address);
    return format(address);
  }

  /** Marks the address of a pod that outlived the program as used, and returns it. Default: a new address, as of {@link take}. */
  keep(text: string | undefined): string {
    if (text === undefined || text === "") return this.take();
    const address = parseAddress(text);
    if (address !== undefined) this.#options.used.claim(address);
    return text;
  }

  /** Releases an address that {@link take} or {@link keep} returned. */
  giveBack(text: string): void {
    const address = parseAddress(text);
    if (address !== undefined) this.#options.used.release(address);
  }
}

function nextFree(span: Span, used: UsedAddresses): number | undefined {
  for (let tried = 0; tried < span.count; tried++) {
    const address = span.first + span.next;
    span.next = (span.next + 1) % span.count;
    if (!used.has(address)) return address;
  }
  return undefined;
}

/** Index of the /24 of the number at the end of the node's name; `undefined` if there is no such number, or the range is not larger. */
function partOf(nodeName: string, parts: number): number | undefined {
  const number = /\d+$/.exec(nodeName)?.[0];
  return number === undefined || parts < 2 ? undefined : Number(number) % parts;
}

function parseRange(text: string): { base: number; bits: number } | undefined {
  const [start = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(start);
  const bits = Number(length);
  if (address === undefined || rest.length > 0 || !/^\d{1,2}$/.test(length) || bits < 8 || bits > 30) return undefined;
  const size = 2 ** (32 - bits);
  return { base: Math.floor(address / size) * size, bits };
}

/** Number of an IPv4 address; `undefined` for any other text. */
function parseAddress(text: string): number | undefined {
  const bytes = addressPattern.exec(text)?.slice(1).map(Number);
  if (!bytes || bytes.some((byte) => byte > 255)) return undefined;
  return bytes.reduce((number, byte) => number * 256 + byte, 0);
}

function format(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}
