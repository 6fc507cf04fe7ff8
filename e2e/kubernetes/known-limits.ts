import { readFileSync } from "node:fs";

/** Why a test cannot pass where it is run, whatever the node does. It counts as failed nevertheless. */
interface KnownLimit {
  /** Over names. */
  readonly tests: RegExp;
  /** Nothing, where it can. */
  why(): string | undefined;
}

const limits: readonly KnownLimit[] = [{ tests: /PrivilegedPod|\[sig-storage\] HostPath/, why: whyNothingPrivileged }];

/** Why a test cannot pass here, if that is known. */
export function knownLimit(name: string): string | undefined {
  return limits.find(({ tests }) => tests.test(name))?.why();
}

function whyNothingPrivileged(): string | undefined {
  const bounding = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const last = Number(readFileSync("/proc/sys/kernel/cap_last_cap", "utf8"));
  const all = (1n << BigInt(last + 1)) - 1n;
  if (BigInt(`0x${bounding}`) === all) return undefined;
  return `its pod is privileged, and Docker starts no such container on this machine, whose root lacks capabilities (CapBnd ${bounding})`;
}
