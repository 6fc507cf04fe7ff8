import { readFileSync } from "node:fs";

/** A reason why tests cannot pass on this machine with any node. They still count as failed. */
interface KnownLimit {
  /** Matches the names of the tests. */
  readonly tests: RegExp;
  /** Returns the reason, or `undefined` if the tests can pass on this machine. */
  why(): string | undefined;
}

const limits: readonly KnownLimit[] = [{ tests: /PrivilegedPod|\[sig-storage\] HostPath/, why: whyNothingPrivileged }];

/** Known reason why a test cannot pass here; `undefined` if there is none. */
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
