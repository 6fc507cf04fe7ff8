import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** IPv4 range of cluster IPs. */
export interface ServiceRange {
  /** First address as a number. */
  readonly base: number;
  /** Number of addresses. */
  readonly size: number;
  /** Addresses at the beginning of the range that are not allocated automatically. */
  readonly reserved: number;
}

/** Range that kubeadm configures. */
export const defaultServiceRange = "10.96.0.0/12";

/**
 * Parses a range of cluster IPs in CIDR notation, such as `10.0.0.0/24`.
 *
 * Source of the reserved part: KEP 3070, and pkg/registry/core/service/ipallocator of Kubernetes v1.36.3.
 *
 * @throws InvalidInputError for anything but an IPv4 range of 8 to 2^20 addresses
 */
export function toServiceRange(cidr: string): ServiceRange {
  const [address = "", prefix = ""] = cidr.split("/");
  const value = parseAddress(address);
  const bits = /^\d{1,2}$/.test(prefix) ? Number(prefix) : -1;
  if (value === undefined || bits < 12 || bits > 29)
    throw new InvalidInputError(
      `range of cluster IPs ${JSON.stringify(cidr)}: expected IPv4 in CIDR notation from /12 to /29, such as 10.96.0.0/12`,
    );
  const size = 2 ** (32 - bits);
  return { base: value - (value % size), size, reserved: size <= 16 ? 0 : Math.min(Math.max(16, size / 16), 256) };
}

/** First usable address of a range, which the service `kubernetes` has. */
export function firstAddress(cidr: string): string {
  return toAddress(toServiceRange(cidr).base + 1);
}

/** IPv4 address of a number. */
export function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
}

/** Number of an IPv4 address; `undefined` for anything else. */
export function parseAddress(address: string): number | undefined {
  const parts = address.split(".").map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : 256));
  if (parts.length !== 4 || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((value, part) => value * 256 + part, 0);
}
