import { QuotaExceededError } from "@virtual-kubelet/errdefs";

const rangePattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;

/**
 * Allocates addresses of an IPv4 range. A released address is the last to be reused, so that clients do not find a new pod at an old
 * address. The first and last addresses of the range, which are the network and broadcast addresses, are never used.
 */
export class PodAddresses {
  readonly #first: number;
  readonly #count: number;
  readonly #range: string;
  readonly #used = new Set<number>();
  #next = 0;

  /** @param range - CIDR such as `10.88.0.0/16` */
  constructor(range: string) {
    const { base, bits } = parseRange(range) ?? { base: 0, bits: 32 };
    this.#range = range;
    this.#first = base + 1;
    this.#count = 2 ** (32 - bits) - 2;
  }

  /** Whether the text is a supported IPv4 range. */
  static isRange(text: string): boolean {
    return parseRange(text) !== undefined;
  }

  /** @throws QuotaExceededError when every address is in use */
  take(): string {
    if (this.#used.size >= this.#count)
      throw new QuotaExceededError(`all ${this.#count} pod addresses of ${this.#range} are in use: set a larger podCIDR`);
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % this.#count;
    const offset = this.#next;
    this.#used.add(offset);
    this.#next = (offset + 1) % this.#count;
    return format(this.#first + offset);
  }

  /**
   * Marks an address as used, such as that of a pod that outlived the program.
   *
   * @returns `false` if it is in use already, or not in the range
   */
  claim(address: string): boolean {
    const offset = parseAddress(address) - this.#first;
    if (!(offset >= 0 && offset < this.#count) || this.#used.has(offset)) return false;
    this.#used.add(offset);
    return true;
  }

  /** Releases an address that {@link take} returned. */
  giveBack(address: string): void {
    this.#used.delete(parseAddress(address) - this.#first);
  }
}

function parseRange(text: string): { base: number; bits: number } | undefined {
  const match = rangePattern.exec(text);
  const bytes = match?.slice(1, 5).map(Number) ?? [];
  const bits = Number(match?.[5]);
  if (!match || bytes.some((byte) => byte > 255) || bits < 8 || bits > 30) return undefined;
  const size = 2 ** (32 - bits);
  return { base: Math.floor(toNumber(bytes) / size) * size, bits };
}

function parseAddress(text: string): number {
  return toNumber(text.split(".").map(Number));
}

function toNumber(bytes: readonly number[]): number {
  return bytes.reduce((number, byte) => number * 256 + byte, 0);
}

function format(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}
