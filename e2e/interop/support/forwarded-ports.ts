import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";

/** Waits until kubectl prints its local ports. @returns local ports by the pod's port */
export async function forwardedPorts(
  output: { readonly stdout: string; readonly stderr: string },
  count: number,
): Promise<Map<number, number>> {
  return await eventually(
    () => {
      const lines = [...output.stdout.matchAll(/Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)\n/g)];
      expect(lines.length, output.stderr).toBe(count);
      return new Map(lines.map(([, local, remote]) => [Number(remote), Number(local)]));
    },
    { timeoutMs: 60_000, describe: "kubectl to forward" },
  );
}
